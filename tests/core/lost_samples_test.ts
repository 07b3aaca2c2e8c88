/** A study that is taken up after the file of some answers was damaged. */
import assert from "node:assert/strict";
import { runStudy, type StudyHistory } from "../../core/mod.ts";
import { historyOf, run, type World, world } from "./study_world.ts";

const BASELINE = "study/t00";
const TRIAL = "study/t01";

/** What the store gives back where these files are damaged, as `trial rung`. */
function without(w: World, damaged: readonly string[]): StudyHistory {
  const { study, evaluations } = historyOf(w);
  const isLost = (one: { trial_id: string; fidelity: string }) =>
    damaged.includes(`${one.trial_id} ${one.fidelity}`);
  return {
    study,
    evaluations: evaluations.filter((one) => !isLost(one)),
    lost: evaluations.filter(isLost).map(({ samples: _, ...one }) => ({
      ...one,
      reason: "its file was changed",
    })),
  };
}

/** One world for both runs: what was made in it is there. `worse`: it answers otherwise from then on. */
async function taken(damaged: readonly string[], worse: readonly number[] = []) {
  let later = false;
  const w = world({ max_trials: 3 }, {
    loss: (bits) => later && worse.includes(bits) ? 0.5 : bits < 16 ? 0.01 : 0,
  });
  const before = await run(w);
  later = true;
  const [calls, records] = [w.calls.length, w.records.length];
  const history = without(w, damaged);
  const again = runStudy(w.input({ history }), w.ports);
  return {
    before,
    again,
    asked: () =>
      w.calls.slice(calls).map(({ call, trial_id, fidelity }) => [call, trial_id, fidelity]),
    told: () =>
      w.records.slice(records).flatMap((one) =>
        one.type === "alert" ? [[one.trial_id, one.condition, one.evidence]] : []
      ),
  };
}

const lost = (trial_id: string) => [trial_id, "lost_samples", "its file was changed"];

Deno.test("answers whose file is damaged are asked again, nothing else is, and all comes out the same", async () => {
  const { before, again, asked, told } = await taken([`${BASELINE} full`, `${TRIAL} proxy`]);
  const after = await again;
  assert.deepEqual(asked(), [["evaluate", BASELINE, "full"], ["evaluate", TRIAL, "proxy"]]);
  assert.deepEqual(told(), [lost(BASELINE), lost(TRIAL)]);
  assert.deepEqual(after.trials, before.trials);
  assert.deepEqual(after.front_probability, before.front_probability);
  assert.deepEqual(after.recommendation, before.recommendation);
});

Deno.test("a trial whose answers come out otherwise counts no more, and its recipe may be tried again", async () => {
  const { before, again, told } = await taken([`${TRIAL} proxy`], [8, 4, 3, 2]);
  assert.equal(before.trials[1]!.state, "completed");
  const { trials, front } = await again;
  const { state, reward, failure } = trials.find(({ trial_id }) => trial_id === TRIAL)!;
  assert.deepEqual([state, reward, failure!.kind], ["failed", null, "crash"]);
  assert.match(
    failure!.message,
    /samples on proxy are lost .*accuracy of words is .* now, and was/,
  );
  assert.ok(!front.includes(TRIAL));
  assert.deepEqual(told()[0], lost(TRIAL));
});

Deno.test("a baseline whose answers come out otherwise is no baseline: the study says so and ends", async () => {
  const { again } = await taken([`${BASELINE} proxy`], [16]);
  await assert.rejects(again, (error: Error) => {
    assert.equal(error.name, "UsageError");
    assert.match(error.message, /^Cannot resume study without its baseline: its samples on proxy/);
    return true;
  });
});

Deno.test("a study that is cancelled while it asks again asks when it is taken up the next time", async () => {
  const w = world({ max_trials: 1 });
  await run(w);
  const calls = w.calls.length;
  w.abort.abort();
  const stopped = await runStudy(
    w.input({ history: without(w, [`${BASELINE} full`]) }),
    w.ports,
  );
  assert.equal(stopped.stop, "cancelled");
  assert.equal(w.calls.length, calls + 1);
  const told = w.records.filter((one) => one.type === "alert" && one.condition === "lost_samples");
  assert.deepEqual(told, []);
});
