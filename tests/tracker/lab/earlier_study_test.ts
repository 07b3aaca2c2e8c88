/** What one study measured is a first try of the next, by way of the store. */
import assert from "node:assert/strict";
import { strategyKey } from "../../../core/mod.ts";
import { earlierTrials } from "../../../tracker/lab/data/earlier_trials.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("the best recipe of a study is found in the store, tried first by the next, and left out where that is asked", () =>
  inDirectory(async (root) => {
    const recipes = [{ bits: 8 }, { bits: 4, group_size: 32, symmetric: false }].map((params) => ({
      actions: [{ agent: "shrinking", method: "round", params }],
    }));
    const first = world({ max_trials: 2, strategies: recipes });
    const { trials, study_id } = await run(first, { samplers: [] });
    await using store = await openStore(root, { write: true });
    for (const one of first.records) if (one.type !== "samples_written") await store.record(one);
    await store.flush({ wait_ms: 60_000 });
    const { facts } = first.input();
    const earlier = await earlierTrials(store, facts, "next");
    assert.equal(earlier.length, 2);
    const next = world({ max_trials: 3 });
    const after = await run(next, { samplers: [], earlier });
    const told = after.trials.slice(1, 3).map(({ strategy, actions }) => ({
      by: strategy!.origin.sampler,
      key: strategyKey(actions),
      reason: strategy!.origin.reason,
    }));
    const ran = trials.slice(1).map(({ actions }) => strategyKey(actions));
    assert.deepEqual(told.map(({ by }) => by), ["earlier_study", "earlier_study"]);
    assert.deepEqual(
      told.map(({ key }) => key).sort(),
      ran.sort(),
      "knobs of every kind came through",
    );
    assert.ok(told.every(({ reason }) => reason.startsWith(`${study_id}/t0`)), told[0]!.reason);
    assert.ok(told.every(({ reason }) => / 1\.00 alike\) gained 0\.\d\d /.test(reason)));
    const without = await run(world({ max_trials: 2 }), { samplers: [] });
    assert.ok(without.trials.slice(1).every(({ strategy }) => strategy!.origin.sampler === "seed"));
  }));
