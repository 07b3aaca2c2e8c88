/** Trials side by side: whatever the order in which their calls end, fail, are cancelled or killed. */
import assert from "node:assert/strict";
import {
  isFinished,
  type JournalRecord,
  openByHand,
  seededRandom,
  strategyKey,
  type StudyRequestInput,
  type Trial,
} from "../../core/mod.ts";
import { fromList, interleaved } from "./interleaved_world.ts";
import {
  failure,
  historyOf,
  RECIPES,
  run,
  type World,
  world,
  type WorldOptions,
} from "./study_world.ts";

const SEEDS = Array.from({ length: 16 }, (_, seed) => seed);
const SMALL: WorldOptions = { samples: { proxy: 20, full: 40 } };
/** Nothing but the end of the list ends it. */
const ASKED: Partial<StudyRequestInput> = { convergence_episodes: 100, max_full_evaluations: 4 };

const keysOf = (trials: readonly Trial[]) =>
  trials.filter(({ strategy }) => strategy !== null).map(({ actions }) => strategyKey(actions));

const closedIn = (records: readonly JournalRecord[]) =>
  records.flatMap((one) => one.type === "trial_closed" ? [one.trial.trial_id] : []);

/** Every trial that was opened is closed, once, and numbers and episodes are given once. */
function requireWhole({ records }: World, trials: readonly Trial[]): void {
  const opened = records.flatMap((one) => one.type === "trial_opened" ? [one.trial_id] : []);
  assert.deepEqual([...closedIn(records)].sort(), [...opened].sort());
  assert.deepEqual(trials.map(({ number }) => number), trials.map((_, i) => i));
  assert.ok(trials.every(({ state }) => state !== "running"));
  const episodes = records.flatMap((one) => one.type === "episode_closed" ? [one.episode] : []);
  const numbers = episodes.map(({ number }) => number);
  assert.deepEqual(numbers, numbers.map((_, i) => numbers[0]! + i));
  assert.equal(records.at(-1)!.type, "study_closed");
}

Deno.test("workers try the same recipes as one does, and nothing computes beside a timing", async () => {
  const alone = await run(world(ASKED, SMALL), { samplers: [] });
  const first = await interleaved(world(ASKED, SMALL), 0);
  const expected = new Set(keysOf(first.result.trials));
  assert.ok(expected.size > keysOf(alone.trials).length, "the list goes on after the seeds");
  assert.equal(first.watched.most, 1);
  let bunched = 0;
  for (const seed of SEEDS) {
    const workers = 2 + seed % 2;
    const w = world({ ...ASKED, workers }, SMALL);
    const { result, watched } = await interleaved(w, seed);
    requireWhole(w, result.trials);
    const keys = keysOf(result.trials);
    assert.deepEqual(new Set(keys), expected);
    assert.equal(keys.length, expected.size, "none is tried twice");
    assert.equal(result.stop, "exhausted");
    assert.equal(watched.most, workers, "every slot has work");
    const full = result.trials.filter((one) => one.strategy !== null && one.fidelity === "full");
    assert.equal(full.length, 4);
    bunched += watched.bunched;
  }
  assert.ok(bunched > SEEDS.length, "timings are made after one another, not each alone");
});

Deno.test("recipes that are asked by hand go side by side, each once, and the first of two alike alone", async () => {
  const recipes = RECIPES.slice(0, 4).map((one) => [one]);
  for (const workers of [1, 2]) {
    const w = world({ ...ASKED, workers }, SMALL);
    const given: (Trial | null)[] = [];
    const { result, watched } = await interleaved(w, workers, {}, () => {}, async (...world) => {
      const hand = await openByHand(...world);
      await hand.baseline();
      const asked = [...recipes, recipes[0]!].map((one) => hand.recipe(one));
      given.push(...await hand.runAll(asked), ...await hand.runAll(asked.slice(0, 1)));
      return await hand.close();
    });
    assert.equal(watched.most, workers);
    requireWhole(w, result.trials);
    assert.deepEqual(given.map((one) => one?.number), [1, 2, 3, 4, 1, 1]);
    assert.deepEqual(keysOf(result.trials), [...new Set(given.map((one) => keysOf([one!])[0]!))]);
  }
});

Deno.test("samplers take turns also where their trials are under way at once", async () => {
  const samplers = [fromList, { ...fromList, name: "other" }];
  const w = world({ ...ASKED, workers: 2 }, SMALL);
  const { result } = await interleaved(w, 3, { samplers });
  const names = result.trials.flatMap(({ strategy }) =>
    strategy?.origin.mode === "explore" ? [strategy.origin.sampler] : []
  );
  assert.ok(names.length >= 4, `${names} of ${result.trials.length}, ${result.stop}`);
  const other = names.filter((name) => name === "other").length;
  assert.ok(Math.abs(names.length - 2 * other) <= 2, names.join(" "));
});

Deno.test("trials side by side keep to their number, and fill it where some cannot run", async () => {
  const strategies = [{ actions: [{ agent: "shrinking", method: "gpu_only", params: {} }] }];
  for (const seed of SEEDS.slice(0, 6)) {
    const w = world({ ...ASKED, workers: 2, max_trials: 3, strategies }, SMALL);
    const { result } = await interleaved(w, seed);
    requireWhole(w, result.trials);
    assert.equal(result.stop, "max_trials");
    const states = result.trials.map(({ state }) => state);
    assert.equal(states.filter((state) => state === "invalid").length, 1);
    assert.equal(states.length, 5, "baseline, the one that cannot run, and three");
  }
});

Deno.test("a budget that ends in the midst of two trials lets both end", async () => {
  for (const seed of SEEDS.slice(0, 8)) {
    const w = world({ ...ASKED, workers: 2, budget_seconds: 40 + 5 * seed }, SMALL);
    const { result } = await interleaved(w, seed);
    requireWhole(w, result.trials);
    assert.equal(result.stop, "budget");
    assert.ok(result.trials.every(({ state }) => ["completed", "stopped"].includes(state)));
  }
});

Deno.test("what fails beside others ends its own trial alone, and is tried once more", async () => {
  for (const seed of SEEDS.slice(0, 8)) {
    const random = seededRandom(seed + 50);
    const kinds = ["crash", "out_of_memory", "invalid", "stall"] as const;
    const w = world({ ...ASKED, workers: 2 }, {
      ...SMALL,
      disturb: ({ trial_id }) =>
        trial_id !== "study/t00" && random() < 0.12
          ? failure(kinds[Math.floor(random() * kinds.length)]!)
          : null,
    });
    const { result } = await interleaved(w, seed);
    requireWhole(w, result.trials);
    const byKey = Map.groupBy(
      result.trials.filter(({ strategy }) => strategy !== null),
      ({ actions }) => strategyKey(actions),
    );
    for (const tries of byKey.values()) {
      assert.ok(tries.length <= 2);
      assert.ok(
        tries.slice(0, -1).every((one) => !isFinished(one)),
        "only what the machine failed",
      );
    }
  }
});

Deno.test("cancelling ends all that is under way in good order; so does a journal that fails", async () => {
  for (const seed of SEEDS.slice(0, 8)) {
    const w = world({ ...ASKED, workers: 2 }, SMALL);
    const { result } = await interleaved(w, seed, {}, (step) => {
      if (step === 8 + 2 * seed) w.abort.abort();
    });
    requireWhole(w, result.trials);
    assert.equal(result.stop, "cancelled");
    const cancelled = result.trials.filter(({ state }) => state === "cancelled");
    assert.ok(cancelled.length > 0);
    assert.ok(cancelled.every(({ failure }) => failure!.kind === "cancelled"));
  }
  const w = world({ ...ASKED, workers: 2 }, SMALL);
  const { record } = w.ports.tracker;
  w.ports.tracker.record = (one) =>
    one.type === "measured" && one.trial_id === "study/t02"
      ? Promise.reject(new Error("the disk is full"))
      : record(one);
  await assert.rejects(interleaved(w, 1), /the disk is full/);
});

Deno.test("a study killed with two trials under way runs both again, and none that is finished", async () => {
  const all = new Set(keysOf((await interleaved(world(ASKED, SMALL), 0)).result.trials));
  let two = 0;
  for (const seed of SEEDS) {
    const first = world({ ...ASKED, workers: 2 }, SMALL);
    await interleaved(first, seed);
    const random = seededRandom(seed + 99);
    const baseline = first.records.findIndex(({ type }) => type === "trial_closed") + 1;
    const count = baseline + Math.floor(random() * (first.records.length - baseline));
    const history = historyOf(first, count);
    if (history.study.open.length === 2) two++;
    const second = world({ ...ASKED, workers: 2 }, SMALL);
    const { result } = await interleaved(second, seed + 1, { history });
    const before = history.study.trials.map(({ trial_id }) => trial_id);
    assert.ok(result.trials.every(({ state }) => state !== "running"));
    const again = closedIn(second.records).filter((id) => before.includes(id));
    assert.deepEqual(again, [], "finished trials are frozen");
    const finished = keysOf(result.trials.filter(isFinished));
    assert.deepEqual(new Set(finished), all, `cut at ${count} of ${first.records.length}`);
    // What was left on the proxy may be run again for a full evaluation.
    const twice = finished.length - new Set(finished).size;
    assert.ok(twice <= 4, `${twice}`);
  }
  assert.ok(two > 3, "some are killed with two under way");
});
