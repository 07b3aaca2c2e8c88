import assert from "node:assert/strict";
import { workPace } from "../../core/loop/cost/pace.ts";
import type { Study } from "../../core/loop/study.ts";
import { methods } from "./spec_fixtures.ts";
import { smallFacts } from "./spec_facts.ts";
import { run, world } from "./study_world.ts";

type Told = Pick<Study["trials"][number], "actions" | "spans" | "strategy">;

/** A study on two cores whose baseline was timed beside so many busy ones. A negative time is one that was cut off. */
function study(busy_cores: number | undefined, ...applied: number[]): Study {
  const measurements = [{
    metric: "latency_ms",
    ...(busy_cores === undefined ? {} : { busy_cores }),
  }];
  const baseline = { strategy: null, state: "completed", actions: [], spans: [], measurements };
  const action = { agent: "shrinking", method: "round", params: { bits: 4 } };
  const trials = applied.map((seconds): Told => ({
    strategy: { actions: [action], origin: {} } as never,
    actions: [action] as never,
    spans: [
      { name: "evaluate", seconds: 1000, library: true, phase: "proxy" },
      ...seconds === 0 ? [] : [{
        name: seconds < 0 ? "unfinished apply" : "round",
        seconds: Math.abs(seconds),
        library: true,
        phase: "apply",
        action_index: 0,
      }],
    ],
  }));
  return { trials: [baseline, ...trials], input: { methods, facts: smallFacts() } } as never;
}

Deno.test("work is said to take as long as methods say, and longer as it did or as the machine is busy", () => {
  assert.equal(workPace(study(undefined)), 1);
  assert.equal(workPace(study(1)), 2, "half of two cores is free");
  assert.equal(workPace(study(1.9)), 4);
  assert.equal(workPace(study(undefined, 0)), 1, "what is reused says nothing");
  assert.equal(workPace(study(undefined, 10)), 1, "10 s were said");
  assert.equal(workPace(study(undefined, 2)), 1, "no method is said to be faster");
  assert.equal(workPace(study(undefined, 80)), 2, "70 s more, beside a minute");
  assert.equal(
    workPace(study(undefined, 80, -1, -1, -1)),
    2,
    "what was stopped at once says nothing",
  );
  assert.equal(workPace(study(undefined, -80)), 2, "what was stopped late took that long at least");
  assert.ok(workPace(study(1.9, 10, 10, 10, 10, 10, 10)) < 2.6, "it was not so busy after all");
});

Deno.test("on a busy machine nothing is begun that idle it would end within its budget", async () => {
  const needs = async (busy: number | undefined) => {
    const w = world({ budget_seconds: 130 }, { busy: () => busy });
    await run(w);
    const refused = w.records.flatMap((one) =>
      one.type === "episode_closed" ? one.episode.refused : []
    );
    return Number(/needs about (\d+) s/.exec(refused.map(({ reason }) => reason).join())![1]);
  };
  assert.ok(await needs(1.9) > 10 + await needs(undefined));
});
