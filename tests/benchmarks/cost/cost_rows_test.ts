/** What the ways of evaluating would have taken: replayed by the loop, on answers that a world knows. */
import assert from "node:assert/strict";
import { costRow, costTable, KeptCost, secondsTo } from "./cost_rows.ts";
import { type RecordedStudy, recordedStudy, repeatedStudy } from "./recorded_study.ts";
import { rungSamples } from "./replayed_backend.ts";
import { inOrder, replayWay, type Step, WAYS } from "./replay_way.ts";
import { methods, plugins } from "../../core/spec_fixtures.ts";
import { run, type World, world } from "../../core/study_world.ts";

const known = { methods, plugins };
/** Seconds of a sample; the world's evaluation takes 0.05 for a word, texts with it. */
const SECONDS = 0.044;

const strategies = [8, 4, 3, 2].flatMap((bits) =>
  [32, 64].map((group_size) => ({
    actions: [{
      ...{ agent: "shrinking", method: "round" },
      params: { bits, group_size, targets: "both" },
    }],
  }))
);

async function recorded(): Promise<{ w: World; study: RecordedStudy }> {
  const w = world(
    {
      ...{ strategies, fidelity: "full", front: ["accuracy", "size_bytes"] },
      ...{ max_trials: 8, max_full_evaluations: 8, rules: [], samples: { proxy: 100, full: 1600 } },
    },
    {
      samples: { proxy: 100, full: 1600 },
      loss: (bits) => ({ 8: 0, 4: 0.1, 3: 0.2, 2: 0.6 })[bits] ?? 0,
      spec: (one) => ({
        ...one,
        tasks: one.tasks.map((plan) => ({ ...plan, available_samples: 1600 })),
      }),
    },
  );
  const { study_id } = await run(w);
  const samplesOf = (trial_id: string) => {
    const found = w.stored.find((one) => one.trial_id === trial_id && one.fidelity === "full");
    const samples = found?.evaluation.samples.map((one) => ({ ...one, seconds: SECONDS }));
    return Promise.resolve(samples ?? null);
  };
  return { w, study: await recordedStudy(w.records, study_id, samplesOf) };
}

const { w, study } = await recorded();
const [inFull, rungs, decided] = WAYS;

Deno.test("a study is recorded whole: artifacts where they were made, processes beside their samples", () => {
  assert.equal(study.trials.length, 8);
  for (const { artifacts, fixed_seconds, evaluation, speed } of study.trials) {
    assert.equal(artifacts.length, 1);
    assert.equal(study.made.get(artifacts[0]!.artifact_id), 10);
    const whole = evaluation.samples.length * SECONDS + fixed_seconds;
    assert.ok(Math.abs(whole - 1600 / 20) < 1e-9, `${whole}`);
    assert.ok(speed === null || speed.seconds === 5);
  }
  assert.ok(study.trials.some(({ speed }) => speed === null), "a gate ended some before timing");
});

Deno.test("every trial in full costs in the replay what it cost when it was recorded", async () => {
  const { steps, full, samples } = await replayWay(study, inFull!, 0, known);
  const seconds = w.records.flatMap((one) => one.type === "trial_closed" ? [one.trial] : [])
    .flatMap(({ spans }) => spans)
    .reduce(
      (sum, { phase, seconds }) => sum + (phase === "apply" || phase === "full" ? seconds : 0),
      0,
    );
  assert.ok(Math.abs(steps.at(-1)!.work - seconds) < 1e-6, `${steps.at(-1)!.work}, ${seconds}`);
  assert.equal(full, 8);
  assert.equal(samples, 9 * study.baseline.evaluation.samples.length);
});

Deno.test("rungs and looks read fewer samples of what is lost, and find as much", async () => {
  const all = await replayWay(study, inFull!, 0, known);
  const some = await replayWay(study, rungs!, 0, known);
  const few = await replayWay(study, decided!, 0, known);
  const volumes = [all, some, few].map(({ steps }) => steps.at(-1)!.hypervolume);
  assert.ok(volumes[0]! > 0);
  for (const volume of volumes) assert.ok(Math.abs(volume / volumes[0]! - 1) < 1e-9, `${volumes}`);
  assert.ok(some.samples < all.samples && few.samples < some.samples, `${few.samples}`);
  assert.ok(few.steps.at(-1)!.work < some.steps.at(-1)!.work);
  assert.ok(some.steps.at(-1)!.work < 0.8 * all.steps.at(-1)!.work);
});

Deno.test("on more samples of the same sort what is decided early saves more", async () => {
  const larger = repeatedStudy(study, 3);
  const [own, more] = [study, larger].map(({ baseline }) => baseline.evaluation.samples);
  const words = (some: typeof own) => some!.filter(({ task }) => task === "words");
  assert.equal(words(more).length, 3 * words(own).length);
  assert.equal(more!.length - own!.length, 2 * words(own).length, "texts stay as they are");
  assert.equal(
    new Set(more!.map(({ task, sample_id }) => `${task} ${sample_id}`)).size,
    more!.length,
  );
  assert.equal(larger.opened.spec.tasks[0]!.available_samples, 4800);
  const share = async (of: RecordedStudy) => {
    const [all, few] = [
      await replayWay(of, inFull!, 0, known),
      await replayWay(of, decided!, 0, known),
    ];
    return few.steps.at(-1)!.work / all.steps.at(-1)!.work;
  };
  assert.ok(await share(larger) < await share(study));
});

Deno.test("an order is drawn by its number, the first is the one that was run; another draws other rungs", () => {
  assert.deepEqual(inOrder(study.trials, 0), [...study.trials]);
  const ids = (order: number) => inOrder(study.trials, order).map(({ trial_id }) => trial_id);
  assert.deepEqual(ids(3), ids(3));
  assert.notDeepEqual(ids(3), ids(4));
  assert.deepEqual(ids(3).toSorted(), ids(0).toSorted());
  const { spec } = study.opened;
  const drawn = (seed: number) => rungSamples(spec, study.baseline.evaluation.samples, seed);
  const [proxy, full] = ["proxy", "full"].map((rung) => drawn(1).get(rung)!);
  assert.ok(proxy!.size < full!.size && [...proxy!].every((key) => full!.has(key)));
  assert.notDeepEqual(drawn(2).get("proxy"), proxy);
});

Deno.test("the row has minutes to 95 %, beside the first way's in the same orders, and says what is not reached", () => {
  const steps = (...of: [number, number][]): Step[] =>
    of.map(([work, hypervolume]) => ({ work, timing: 10, hypervolume }));
  assert.equal(secondsTo(steps([60, 0.5], [120, 0.94], [180, 0.95]), 0.95), 180);
  assert.equal(secondsTo(steps([60, 0.5]), 0.95), null);
  assert.equal(secondsTo(steps([60, 0.5]), 0.5, true), 70);
  const first = [{ steps: steps([60, 0.2], [600, 1]), full: 2, samples: 200 }];
  const own = [{ steps: steps([60, 0.2], [240, 0.96], [300, 0.97]), full: 1, samples: 80 }];
  const about = { way: "own", benchmark: 200, times: 1 };
  const row = costRow(about, own, first);
  assert.deepEqual(
    [row.minutes?.median, row.ratio?.median, row.whole.median, row.found.median, row.full],
    [4, 0.4, 5, 0.97, 1],
  );
  assert.equal(row.ratio_timed!.median, 250 / 610);
  const never = costRow(
    { ...about, way: "never" },
    [{ ...own[0]!, steps: steps([60, 0.3]) }],
    first,
  );
  assert.deepEqual([never.minutes, never.ratio], [null, null]);
  const measured = [{ way: "own", minutes: 4.5, whole: 6 }];
  const lines = costTable({ rows: [row, never], measured }).split("\n");
  assert.match(lines[2]!, /^\| 200 \| own \| 4\.0 \(4\.0 to 4\.0\) \| 0\.40 .*\| 4\.5, 6\.0 \|$/);
  assert.match(lines[3]!, /^\| 200 \| never \| not reached \| not reached \|/);
  const kept = { model: "tiny", dataset: "tiny", cores: 2, trials: 2, orders: 1 };
  assert.deepEqual(KeptCost.parse({ ...kept, measured, rows: [row] }).rows, [row]);
});
