/** What samplers are shown, that their answers are recorded, and that a resumed study repeats them. */
import assert from "node:assert/strict";
import {
  type EarlierTrial,
  fnv1a64,
  type JournalRecord,
  runStudy,
  type Sampler,
  type SearchContext,
} from "../../core/mod.ts";
import { historyOf, inOrder, RECIPES, run, world } from "./study_world.ts";

/** The sampler of the world that also keeps what it was shown. */
function watching(seen: SearchContext[], sampler: Sampler = inOrder): Sampler {
  return {
    ...sampler,
    propose(context) {
      seen.push(context);
      return sampler.propose(context);
    },
  };
}

const proposedIn = (records: readonly JournalRecord[]) =>
  records.flatMap((one) => one.type === "proposed" ? [one] : []);

const earlier: EarlierTrial = {
  study_id: "before",
  trial_id: "before/t01",
  model_name: "small",
  dataset: "demo",
  actions: [{ agent: "shrinking", method: "round", params: { bits: 8 } }],
  state: "completed",
  fidelity: "full",
  failure_kind: null,
  reward: 0.7,
  figures: { accuracy: { value: 0.6, baseline: 0.61 } },
};

Deno.test("a sampler sees seconds, budget, trials under way, samples and what a recipe will take", async () => {
  const seen: SearchContext[] = [];
  const w = world({ budget_seconds: 5_000, max_trials: 7 });
  await run(w, { samplers: [watching(seen)], earlier: [earlier] });
  const last = seen.at(-1)!;
  assert.deepEqual(last.costs.map((one) => one.trial_id), last.trials.map((one) => one.trial_id));
  const first = last.costs[1]!;
  assert.deepEqual([first.seconds["apply"], first.seconds["proxy"], first.seconds["speed"]], [
    10,
    5,
    5,
  ]);
  assert.ok(Math.abs(first.total_seconds - (40 - (first.seconds["full"] === 20 ? 0 : 20))) < 1e-9);
  assert.equal(first.gpu_seconds, 0);
  const { seconds_left, trials_left, full_evaluations_left } = last.budget;
  const asked = proposedIn(w.records).at(-1)!;
  const spent = (Date.parse(asked.at) - Date.parse(w.records[0]!.at)) / 1000;
  assert.equal(seconds_left, 5_000 - spent);
  const tried = last.trials.filter(({ strategy }) => strategy !== null).length;
  assert.equal(trials_left, 7 - tried);
  assert.ok(full_evaluations_left < 8);
  assert.deepEqual(last.earlier, [earlier]);
  assert.equal(last.samples("study/t01")?.length, last.samples("study/t01", "full")?.length ?? 110);
  assert.equal(last.samples("study/t01", "proxy")?.length, 110);
  assert.equal(last.samples("study/t99"), undefined);
  const recipe = [{ agent: "shrinking", method: "round", params: { bits: 4 } }];
  assert.ok(last.predictSeconds(recipe)! >= 10, "5 s of the proxy, 5 s of the speed, its own");
  assert.equal(last.predictSeconds([{ ...recipe[0]!, method: "rownd" }]), null);
});

Deno.test("a sampler is told which trials are held for a late full evaluation", async () => {
  const seen: SearchContext[] = [];
  await run(world({ max_full_evaluations: 8 }), { samplers: [watching(seen)] });
  const held = seen.flatMap(({ under_way }) => under_way);
  assert.ok(held.length > 0);
  assert.ok(held.every(({ waits_for, fidelity }) => waits_for === "full" && fidelity === "proxy"));
  for (const { under_way, trials } of seen) {
    for (const { trial_id } of under_way) {
      assert.equal(trials.find((one) => one.trial_id === trial_id)?.state, "completed");
    }
  }
});

Deno.test("what a sampler was shown and answered is recorded before its trial is opened", async () => {
  const w = world({ max_trials: 5 });
  await run(w, { earlier: [earlier] });
  const asked = proposedIn(w.records);
  assert.ok(asked.length >= 2);
  for (const record of asked) {
    const at = w.records.indexOf(record);
    const opened = w.records[at + 1]!;
    assert.ok(opened.type === "trial_opened");
    assert.deepEqual(opened.strategy!.actions, record.answer!.actions);
    const closed = w.records.slice(0, at).flatMap((one) =>
      one.type === "trial_closed" ? [one.trial.trial_id] : []
    );
    assert.ok(closed.every((id) => record.shown.trials.includes(id)));
    assert.deepEqual(record.shown.earlier_studies, ["before"]);
    assert.equal(record.ask, 0);
  }
  assert.equal(new Set(asked.map(({ shown }) => shown.hash)).size, asked.length);
  const again = world({ max_trials: 5 });
  await run(again, { earlier: [earlier] });
  assert.deepEqual(again.records, w.records, "hashes and all");
});

Deno.test("a sampler may wait: the study is that of one that does not", async () => {
  const slow: Sampler = {
    ...inOrder,
    async propose(context) {
      await new Promise((done) => queueMicrotask(() => done(null)));
      return await inOrder.propose(context);
    },
  };
  const w = world();
  const expected = await run(world());
  assert.deepEqual(await run(w, { samplers: [slow] }), expected);
});

Deno.test("a killed study takes a recorded answer and does not ask again", async () => {
  // One that answers otherwise each time it is asked, as a model does.
  let times = 0;
  const fickle: Sampler = {
    ...inOrder,
    propose: () => {
      const recipe = RECIPES[times++];
      return recipe === undefined
        ? null
        : { actions: [recipe], origin: { mode: "explore", reason: `thought ${times}` } };
    },
  };
  const first = world({ max_trials: 6 });
  const whole = await run(first, { samplers: [fickle] });
  const at = first.records.findIndex((one) => one.type === "proposed" && one.answer !== null) + 1;
  assert.equal(first.records[at]!.type, "trial_opened");
  for (const count of [at, at + 1, at + 3]) { // before its trial, and in its midst
    times = 1; // it would say something else now
    const w = world({ max_trials: 6 });
    const result = await run(w, { samplers: [fickle], history: historyOf(first, count) });
    const recipes = result.trials.filter(({ state }) => state !== "cancelled")
      .map(({ strategy }) => JSON.stringify([strategy?.actions, strategy?.origin]));
    assert.deepEqual(
      recipes,
      whole.trials.map(({ strategy }) => JSON.stringify([strategy?.actions, strategy?.origin])),
      `killed after ${count} records`,
    );
  }
});

Deno.test("a resumed study shows the earlier trials that it was opened with", async () => {
  const first = world({ max_trials: 4 });
  await run(first, { earlier: [earlier] });
  const seen: SearchContext[] = [];
  const other = { ...earlier, study_id: "meanwhile" };
  const w = world({ max_trials: 5 });
  await run(w, { samplers: [watching(seen)], history: historyOf(first), earlier: [other] });
  assert.deepEqual(seen[0]!.earlier, [earlier]);
  assert.ok(!w.records.some(({ type }) => type === "earlier_trials_given"));
});

const losses = [
  { study_id: "scored", part: "linear" as const, format: "4-bit", weight_bits: 4, kl: 0.1 },
];

Deno.test("what formats cost the original is shown, recorded, and kept by a study that goes on", async () => {
  const given = (w: typeof first) => w.records.filter(({ type }) => type === "format_losses_given");
  const first = world({ max_trials: 4 });
  await run(first, { format_losses: losses });
  assert.equal(given(first).length, 1);
  const resume = async (from: typeof first, format_losses: typeof losses) => {
    const seen: SearchContext[] = [];
    const w = world({ max_trials: 5 });
    await run(w, { samplers: [watching(seen)], history: historyOf(from), format_losses });
    return { shown: seen[0]!.format_losses, given: given(w).length };
  };
  const others = [{ ...losses[0]!, kl: 0.2 }];
  assert.deepEqual(await resume(first, others), { shown: losses, given: 0 });
  const without = world({ max_trials: 4 });
  await run(without);
  assert.equal(given(without).length, 0);
  assert.deepEqual(await resume(without, others), { shown: others, given: 1 }, "scored meanwhile");
  const hashes = (w: typeof first) => proposedIn(w.records).map(({ shown }) => shown.hash);
  assert.notDeepEqual(hashes(first), hashes(without));
});

Deno.test("a study without earlier trials records none", async () => {
  const w = world({ max_trials: 1 });
  await run(w);
  assert.ok(!w.records.some(({ type }) => type === "earlier_trials_given"));
});

Deno.test("cancelling ends a study whose sampler never answers", async () => {
  const w = world();
  const silent: Sampler = {
    ...inOrder,
    propose({ signal }) {
      assert.equal(signal, w.abort.signal);
      queueMicrotask(() => w.abort.abort());
      return new Promise(() => {});
    },
  };
  const { stop } = await run(w, { samplers: [silent] });
  assert.equal(stop, "cancelled");
  assert.match(proposedIn(w.records)[0]!.failure!, /ended before it answered/);
});

Deno.test("the budget ends a study whose sampler never answers", async () => {
  const w = world({ budget_seconds: 1_000 });
  const clock = {
    now: w.clock.now,
    endAfter: (ms: number, ended = () => {}) => {
      if (asked) {
        w.clock.advance(ms / 1000);
        ended();
      }
      return { clear: () => {} };
    },
  };
  let asked = false;
  const silent: Sampler = {
    ...inOrder,
    propose() {
      return new Promise(() => {});
    },
  };
  const events = (event: { event: string }) => {
    // The seeds are run by then: what is timed from here on is the asking.
    if (event.event === "record") asked = w.records.filter(isSeedEnd).length >= 3;
  };
  const { stop } = await runStudy(w.input({ samplers: [silent], onEvent: events }), {
    ...w.ports,
    clock,
  });
  assert.equal(stop, "budget");
});

function isSeedEnd(record: JournalRecord): boolean {
  return record.type === "episode_closed" && record.episode.mode === "seed";
}

Deno.test("what a sampler throws, or gives that is no recipe, is recorded and told as a refusal", async () => {
  const broken: Sampler[] = [
    { ...inOrder, name: "thrower", propose: () => Promise.reject(new Error("no connection")) },
    {
      ...inOrder,
      name: "rambler",
      propose: () => ({ actions: [], origin: { mode: "explore", reason: "" } }),
    },
  ];
  const w = world();
  const { stop } = await run(w, { samplers: broken });
  assert.equal(stop, "exhausted");
  const failures = proposedIn(w.records).map(({ sampler, failure }) => [sampler, failure]);
  assert.equal(failures.length, 2);
  assert.match(String(failures.find(([name]) => name === "thrower")?.[1]), /no connection/);
  assert.ok(failures.find(([name]) => name === "rambler")?.[1]);
  const refused = w.records.flatMap((one) =>
    one.type === "episode_closed" ? one.episode.refused.map(({ strategy }) => strategy) : []
  );
  assert.ok(refused.includes("sampler thrower") && refused.includes("sampler rambler"));
});

Deno.test("fnv1a64() gives the published values", () => {
  // Landon Curt Noll's test vectors of FNV-1a.
  assert.equal(fnv1a64(""), "cbf29ce484222325");
  assert.equal(fnv1a64("a"), "af63dc4c8601ec8c");
  assert.equal(fnv1a64("foobar"), "85944171f73967e8");
});
