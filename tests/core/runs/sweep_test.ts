import assert from "node:assert/strict";
import {
  kindOf,
  type Method,
  openByHand,
  type RunPorts,
  StudyRequest,
  UsageError,
} from "../../../core/mod.ts";
import { cellsOf } from "../../../core/runs/sweep/cells.ts";
import { SweepPlan } from "../../../core/runs/sweep/plan.ts";
import { methods, plugins, smallFacts } from "../spec_fixtures.ts";
import { world } from "../study_world.ts";

const facts = smallFacts();
const round = methods.find(({ method }) => method.name === "round")!;

/** A policy of the cache whose bits are its budget. */
const keep = (name: string, more: Partial<Method> = {}) => ({
  agent: "kv_cache",
  method: {
    ...round.method,
    name,
    order: { ...round.method.order, effect: "caches" },
    leaves: (_params: unknown, { model }: typeof facts) => ({
      changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
      model: { ...model, cache: { kept_tokens: { mean: 64, most: 64 }, evict_after: "context" } },
    }),
    keeping: (bits: number) => bits < 1 ? { refused: "it keeps no share" } : { bits },
    ...more,
  } as unknown as Method,
});
const known = [...methods, keep("choose"), keep("whole", { keeping: undefined } as object)];
const plan = (given: object) => SweepPlan.parse(given);

Deno.test("a sweep's cells are weights by methods by budgets, and one of a method without a budget", () => {
  const rounding = [{ agent: "shrinking", method: "round", params: { bits: 8 } }];
  const cells = cellsOf(
    plan({ methods: ["choose", "whole"], budgets: [4, 3], weights: [[], rounding] }),
    known,
    facts,
  );
  const words = cells.map((cell) =>
    cell.map(({ method, params }) => `${method} ${params["bits"] ?? "-"}`).join(", ")
  );
  assert.deepEqual(words, [
    "choose 4",
    "choose 3",
    "whole -",
    "round 8, choose 4",
    "round 8, choose 3",
    "round 8, whole -",
  ]);
});

Deno.test("the whole cache among a sweep's methods is its baseline, and no cell", () => {
  const cells = (methods: string[]) => cellsOf(plan({ methods, budgets: [4] }), known, facts);
  assert.deepEqual(cells(["full", "choose"]), cells(["choose"]));
  const odd = SweepPlan.safeParse({ methods: ["choose"], budgets: [1.5] });
  assert.match(odd.error!.message, /a whole number of tokens, or below 1 the share of a prompt/);
});

Deno.test("what a sweep cannot run is refused before anything is begun, in a sentence", () => {
  const refused = (given: object, message: RegExp) =>
    assert.throws(
      () => cellsOf(plan({ methods: ["choose"], budgets: [4], ...given }), known, facts),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  refused({ methods: ["chose"] }, /^Unknown method of the cache "chose". Did you mean "choose"\?/);
  refused({ methods: ["shrinking/round"] }, /^Unknown method of the cache/);
  refused({ budgets: [0.5] }, /^Cannot sweep choose with a budget of 50 % as it keeps no share$/);
  refused({ methods: ["full"] }, /^Cannot sweep full alone: it is the baseline of every sweep/);
  refused({ set: { bitz: 3 } }, /^Unknown knob of these methods "bitz". Did you mean "bits"\?/);
});

Deno.test("a sweep measures the baseline and each cell on all samples, and times nothing", async () => {
  const strategies = { sweep: { methods: ["choose"], budgets: [8, 4, 3] } };
  const made = world(strategies as object, {
    methods: known,
    spec: (spec) => ({ ...spec, constraints: { ...spec.constraints, max_accuracy_drop: 0.5 } }),
  });
  const request = StudyRequest.parse({ model_name: "small", dataset: "words", ...strategies });
  assert.equal(request.kind, "sweep");
  const kind = kindOf(request);
  const spec = kind.spec(request, facts, { ...plugins, methods: known });
  assert.deepEqual(spec.objectives.map(({ metric }) => metric), ["accuracy", "context_kv_bytes"]);
  assert.equal(spec.evict_after, "context");

  const input = { ...made.input({ methods: known, spec }), request };
  const result = await kind.drive(input, made.ports as RunPorts);
  assert.equal(result.stop, "end_of_plan");
  assert.equal(result.message, "All 3 cells of the sweep are run.");
  assert.deepEqual(result.trials.map(({ state }) => state), Array(4).fill("completed"));
  const calls = made.calls.map(({ call, recipe, fidelity }) =>
    `${call} ${/bits":(\d)/.exec(recipe)?.[1] ?? recipe} ${fidelity}`
  );
  assert.deepEqual(calls.filter((one) => !one.startsWith("apply")), [
    "evaluate base full",
    ...["8", "4", "3"].map((bits) => `evaluate ${bits} full`),
  ]);
  assert.ok(!calls.some((one) => one.startsWith("speed")));
});

Deno.test("a sweep by hand proposes its cells, and learns from one that nobody timed", async () => {
  const strategies = { sweep: { methods: ["choose"], budgets: [8, 4] } };
  const made = world(strategies as object, { methods: known });
  const request = StudyRequest.parse({ model_name: "small", dataset: "words", ...strategies });
  const spec = kindOf(request).spec(request, facts, { ...plugins, methods: known });
  const input = { ...made.input({ methods: known, spec }), request };
  const hand = await openByHand(input, made.ports);
  await hand.baseline();
  const proposal = await hand.propose();
  assert.equal(proposal?.resolved[0]?.params["bits"], 8);
  const one = await hand.begin(proposal!);
  await one.apply();
  await one.evaluate();
  assert.equal((await one.learn()).state, "completed");
  assert.equal((await hand.episode())?.actions[0]?.params["bits"], 4);
  assert.equal(await hand.episode(), null);
  await hand.close();
});
