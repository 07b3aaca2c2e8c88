/** A study's history as a search algorithm is shown it, and what becomes of its suggestion. */
import assert from "node:assert/strict";
import {
  type AgentMethod,
  type Algorithm,
  type HeldPart,
  type Measurement,
  nextOfGrid,
  openPoints,
  proposeBy,
  readRatio,
  type SearchState,
  studySearch,
  type Trial,
  type TrialState,
} from "../../../core/mod.ts";
import { methods } from "../spec_fixtures.ts";
import { baseline, context, only, recipe, trial } from "../../plugins/search_fixtures.ts";

function row(metric: string, value: number, more: Partial<Measurement> = {}): Measurement {
  return {
    metric,
    value,
    unit: "1",
    direction: metric === "size_bytes" ? "minimize" : "maximize",
    n: 100,
    standard_error: 0.01,
    fidelity: "full",
    provenance: "measured",
    task: null,
    task_version: null,
    slice: null,
    runtime: null,
    numerics: null,
    device: null,
    method: "",
    ...more,
  };
}

const base = context();
const spec = {
  ...base.spec,
  objectives: [
    { metric: "accuracy", direction: "maximize" as const, unit: "share" },
    { metric: "size_bytes", direction: "minimize" as const, unit: "bytes" },
  ],
};
const measured = (accuracy: number, bytes: number, fidelity = "full") => [
  row("accuracy", accuracy, { fidelity }),
  row("size_bytes", bytes, { standard_error: 0 }),
];

function state(trials: Trial[], more: Parameters<typeof context>[0] = {}): SearchState {
  return studySearch(context({ spec, trials, ...more })).state;
}

const rounded = recipe(["round", { bits: 8 }]);
const failed = (kind: string) => ({
  state: "failed" as const,
  failure: { kind, message: "", hint: null, phase: null } as Trial["failure"],
});

Deno.test("a measured trial is a point with its values and their errors; the baseline is none", () => {
  const { seen, directions, space } = state([
    { ...baseline, measurements: measured(0.6, 9e8) },
    trial(1, rounded, { measurements: measured(0.5, 1e8) }),
  ]);
  assert.deepEqual(directions, ["maximize", "minimize"]);
  assert.equal(seen.length, 1);
  const [only] = seen;
  assert.deepEqual([only!.state, only!.values, only!.errors], ["done", [0.5, 1e8], [0.01, 0]]);
  assert.equal(only!.point["rounds.bits"], 8);
  assert.match(space.forbidden!(only!.point)!, /tried before/);
});

Deno.test("what became of a trial is told apart: its own fault, the machine's, a lower rung", () => {
  const states: [Partial<Trial>, string][] = [
    [failed("not_a_number"), "infeasible"],
    [failed("verification"), "infeasible"],
    [failed("crash"), "failed"],
    [failed("out_of_memory"), "failed"],
    [{ state: "invalid" as TrialState }, "infeasible"],
    [{ state: "cancelled" as TrialState }, "failed"],
    [{ state: "stopped" as TrialState, fidelity: "proxy" }, "stopped"],
    [{ state: "completed" as TrialState, fidelity: "proxy" }, "stopped"],
    [{ state: "running" as TrialState }, "pending"],
  ];
  for (const [more, wanted] of states) {
    assert.equal(state([trial(1, rounded, more)]).seen[0]!.state, wanted, JSON.stringify(more));
  }
});

Deno.test("values of a lower rung are that rung's; a missing or broken one leaves none", () => {
  const low = { fidelity: "proxy", state: "stopped" as const };
  const values = (measurements: Measurement[], more: Partial<Trial> = low) =>
    state([trial(1, rounded, { ...more, measurements })]).seen[0]!.values;
  assert.deepEqual(values(measured(0.4, 1e8, "proxy")), [0.4, 1e8]);
  assert.equal(values([row("size_bytes", 1e8)]), null);
  assert.equal(values(measured(NaN, 1e8), {}), null);
  assert.equal(values(measured(Infinity, 1e8), {}), null);
});

Deno.test("a limit is exceeded by its share; one that is not measured by nothing", () => {
  const verdict = (value: number | null, verdict: "violated" | "met" | "unmeasured") => ({
    ...{ constraint: "max_accuracy_drop", threshold: 0.02, value, verdict },
    ...{ interval: null, samples_to_decide: null },
  });
  const violations = (...constraints: ReturnType<typeof verdict>[]) =>
    state([trial(1, rounded, { constraints })]).seen[0]!.violations;
  const [over, under, none] = violations(
    verdict(0.03, "violated"),
    verdict(0.01, "met"),
    verdict(null, "unmeasured"),
  )!;
  assert.ok(Math.abs(over! - 0.5) < 1e-9 && under! < 0 && none === 0);
  assert.equal(violations(), undefined);
});

Deno.test("trials under way are pending points, each once", () => {
  const open = trial(2, recipe(["octet"]));
  const { seen } = state([trial(1, rounded)], {
    under_way: [
      { trial_id: "t1", actions: trial(1, rounded).actions, fidelity: null, waits_for: null },
      { trial_id: "t2", actions: open.actions, fidelity: null, waits_for: null },
    ],
  });
  assert.deepEqual(seen.map((one) => one.state), ["done", "pending"]);
});

Deno.test("bytes are known of a point before it is tried, quality is not", () => {
  const { known, seen } = state([trial(1, rounded, { measurements: measured(0.5, 1e8) })]);
  const [quality, bytes] = known!(seen[0]!.point)!;
  assert.equal(quality, null);
  const { linear_parameters, embedding_parameters } = base.facts.model;
  const rest = base.facts.model.parameters - linear_parameters - embedding_parameters;
  const bits = 8 + 16 / 64;
  assert.equal(bytes, linear_parameters * bits / 8 + 2 * embedding_parameters + 2 * rest);
});

Deno.test("nothing counts beyond the corner that the original and the limits give", () => {
  const original = { ...baseline, measurements: measured(0.6, 1e9) };
  const fp16 = base.facts.model.fp16_bytes;
  const of = (constraints: Partial<typeof spec.constraints>) =>
    state([original], {
      spec: {
        ...spec,
        constraints: { ...spec.constraints, max_accuracy_drop: 0.05, ...constraints },
      },
    }).corner!;
  assert.deepEqual(of({}).map((one) => Number(one.toPrecision(9))), [0.55, 1.1 * fp16]);
  assert.equal(of({ max_size_gb: 0.125 })[1], 0.125e9);
  assert.equal(of({ max_size_gb: 1e6 })[1], 1.1 * fp16);
  assert.equal(state([]).corner, undefined, "no baseline, no corner");
});

Deno.test("recipes without a point are counted, never shown, and said with the answer", () => {
  const stranger = trial(
    1,
    recipe(["octet"], ["round", { targets: "embedding" }]),
    {},
    base.methods,
  );
  const odd = { ...stranger, actions: stranger.actions.toReversed() };
  const given = context({ spec, trials: [odd] });
  const { state: { seen }, left_out } = studySearch(given);
  assert.equal(seen.length, 0);
  assert.match(left_out[0]!.reason, /octet has no place/);
  const answer = proposeBy(given, first)!;
  assert.match(answer.origin.reason, /the first; 1 of the recipes tried have no place/);
});

Deno.test("what a user gives is no point of the space: a search passes over it, and tells no trial of it", () => {
  const given = methods.map((entry) =>
    entry.method.name === "octet"
      ? {
        ...entry,
        method: { ...entry.method, needs: { ...entry.method.needs, given: true as const } },
      }
      : entry
  );
  const trials = [trial(1, recipe(["octet"]), {}, given)];
  const { space, state: { seen }, left_out } = studySearch(context({ trials }, given));
  const choices = space.dimensions.flatMap((one) => one.choices ?? []);
  assert.ok(choices.includes("shrinking/round") && !choices.includes("shrinking/octet"));
  assert.equal(seen.length, 0);
  assert.match(left_out[0]!.reason, /octet has no place/);
});

/** Names the same point again and again. */
const first: Algorithm = ({ space }) => {
  const choose = (name: string) => space.dimensions.find((one) => one.name === name)!.choices!;
  const octet = choose("rounds").find((one) => String(one).endsWith("octet"))!;
  return {
    point: { "rounds": octet, "rounds embedding": "none" },
    mode: "explore",
    reason: "the first",
  };
};

Deno.test("a point that cannot be or was tried is refused, and shown as infeasible", () => {
  assert.equal(proposeBy(context({ trials: [trial(1, recipe(["octet"]))] }), first), null);
  const shown: number[] = [];
  const learning: Algorithm = (given) => {
    shown.push(given.seen.filter((one) => one.state === "infeasible").length);
    return shown.length < 3 ? { ...first(given)!, point: {} } : first(given);
  };
  const answer = proposeBy(context(), learning);
  assert.deepEqual(shown, [0, 1, 2]);
  assert.equal(answer?.actions[0]?.method, "octet");
});

Deno.test("an algorithm is told how many trials there will be, and the study's seed", () => {
  const budget = { seconds_left: null, trials_left: 7, full_evaluations_left: 8 };
  const given = state([trial(1, rounded)], { budget, seed: 11 });
  assert.equal(given.budget, 8);
  assert.equal(given.seed, 11);
  assert.equal(state([]).budget, undefined);
});

/** Coarse to fine, and nothing left to chance. */
const inOrder: Algorithm = (state) => {
  const point = nextOfGrid(state, openPoints(state));
  return point === null ? null : { point, mode: "explore", reason: "the next point" };
};

Deno.test("a recipe that needs more than the time left is passed over while there are others", () => {
  const budget = { seconds_left: 10, trials_left: null, full_evaluations_left: 8 };
  const long = (methods: readonly string[]) => (actions: readonly { method: string }[]) =>
    actions.some(({ method }) => methods.includes(method)) ? 100 : 1;
  // The grid begins with these, and would name the same one at every asking.
  const given = context({ budget, predictSeconds: long(["octet", "round"]) });
  assert.ok(["solve", "tune"].includes(proposeBy(given, inOrder)!.actions[0]!.method));
  const never = context({ budget, predictSeconds: () => 100 });
  assert.notEqual(
    proposeBy(never, inOrder),
    null,
    "the study refuses it, and says that time is out",
  );
});

Deno.test("without a method there is nothing to propose", () => {
  assert.equal(proposeBy({ ...context(), methods: [] }, first), null);
  assert.equal(proposeBy(context({}, only("octet")), () => null), null);
});

Deno.test("latency is expected as the bytes foretell it, by the share that they have saved so far", () => {
  const timed = {
    ...spec,
    objectives: [
      ...spec.objectives.slice(0, 1),
      { metric: "latency_ms", direction: "minimize" as const, unit: "ms/token" },
    ],
  };
  const latency = (ms: number) => [
    row("accuracy", 0.5),
    row("latency_ms", ms, { direction: "minimize", runtime: spec.runtime, standard_error: 0 }),
  ];
  // A runtime that reads weights as they are stored: 2 bytes a float.
  const own = only("round", "octet").map((one) => ({
    ...one,
    reads: ({ stored_bytes }: HeldPart) => stored_bytes,
  }));
  const asked = (trials: Trial[], methods: AgentMethod[] = own) =>
    studySearch(context({ spec: timed, trials }, methods)).state;
  const base = { ...baseline, measurements: latency(10) };
  const eight = trial(1, rounded, { measurements: latency(8) }, own);
  const { point } = asked([base, eight]).seen[0]!;
  const at = (state: SearchState) => state.expected?.(point)[1];
  const ratio = readRatio(eight.actions, own, context().facts)!;
  assert.ok(ratio < 0.7, String(ratio));
  const near = (found: number | null | undefined, wanted: number) =>
    assert.ok(Math.abs(found! - wanted) < 1e-9, `${found} against ${wanted}`);
  near(at(asked([base])), 10 * ratio); // nothing is measured: all of what the bytes say
  near(at(asked([base, eight])), 8); // what was measured, as it alone says the share
  const others = own.filter(({ method }) => method.name === "round");
  const octet = trial(2, recipe(["octet"]), { measurements: latency(9) }, own);
  near(at(asked([base, eight, octet], others)), 8); // what the search may not use tells nothing
  assert.equal(asked([eight]).expected, undefined); // no baseline
  assert.equal(asked([base], only("round", "octet")).expected, undefined); // nobody tells
  assert.equal(state([base]).expected, undefined); // latency is no objective
});

Deno.test("memory is expected so, too, each objective by its own share", () => {
  const own = only("round", "octet").map((one) => ({
    ...one,
    reads: ({ stored_bytes }: HeldPart) => stored_bytes,
  }));
  const both = {
    ...spec,
    objectives: [
      spec.objectives[0]!,
      { metric: "latency_ms", direction: "minimize" as const, unit: "ms/token" },
      { metric: "memory_bytes", direction: "minimize" as const, unit: "bytes" },
    ],
  };
  const figures = (ms: number, bytes: number) => [
    row("accuracy", 0.5),
    row("latency_ms", ms, { direction: "minimize", runtime: spec.runtime, standard_error: 0 }),
    row("memory_bytes", bytes, { direction: "minimize", runtime: spec.runtime }),
  ];
  const base = { ...baseline, measurements: figures(10, 1000) };
  const eight = trial(1, rounded, { measurements: figures(8, 700) }, own);
  const asked = (trials: Trial[]) => studySearch(context({ spec: both, trials }, own)).state;
  const { point } = asked([base, eight]).seen[0]!;
  const ratio = readRatio(eight.actions, own, context().facts)!;
  const before = asked([base]).expected!(point);
  assert.deepEqual(before.map((one) => one && Math.round(one)), [
    null,
    Math.round(10 * ratio),
    Math.round(1000 * ratio),
  ]);
  const after = asked([base, eight]).expected!(point);
  assert.deepEqual(after.map((one) => one && Math.round(one)), [null, 8, 700]);
});
