import assert from "node:assert/strict";
import {
  earlierStrategies,
  type EarlierTrial,
  inferSpec,
  similarityTo,
  type StudyRequestInput,
} from "../../core/mod.ts";
import { methods, plugins, request, smallFacts } from "./spec_fixtures.ts";
import { run, world } from "./study_world.ts";

const facts = smallFacts();
const PARAMETERS = facts.model.parameters;
const LIMIT = { max_accuracy_drop: 0.02 };

/** By default of the same model, dataset and limit: 1 % of the answers lost, latency halved. */
function trial(id: string, method: string, params = {}, more: Partial<EarlierTrial> = {}) {
  return {
    study_id: "before",
    trial_id: `before/${id}`,
    model_name: "small",
    dataset: facts.dataset.dataset,
    actions: [{ agent: "shrinking", method, params }],
    state: "completed",
    fidelity: "full",
    failure_kind: null,
    reward: 0.7,
    figures: figures(0.594, 5),
    parameters: PARAMETERS,
    dataset_class: "language",
    ...LIMIT,
    ...more,
  } satisfies EarlierTrial;
}

function figures(accuracy: number, latency: number): EarlierTrial["figures"] {
  return {
    accuracy: { value: accuracy, baseline: 0.6 },
    latency_ms: { value: latency, baseline: 10 },
  };
}

const ROUND = { bits: 4, group_size: 64, symmetric: true, targets: "linear" };

function found(earlier: EarlierTrial[], asked: Partial<StudyRequestInput> = {}) {
  const spec = inferSpec(request({ constraints: LIMIT, ...asked }), facts, plugins);
  return earlierStrategies(earlier, spec, facts, methods);
}

const names = (earlier: EarlierTrial[], asked: Partial<StudyRequestInput> = {}) =>
  found(earlier, asked).map(({ actions }) => actions[0]!.method);

Deno.test("a recipe exactly at the limit is within it, as its verdict says: 0.92 - 0.90 is more than 0.02", () => {
  const accuracy = { value: 0.9, baseline: 0.92 };
  const at = { ...figures(0.9, 4), accuracy };
  assert.deepEqual(names([trial("t01", "round", ROUND, { figures: at })]), ["round"]);
  const beyond = { ...at, accuracy: { ...accuracy, value: 0.8999 } };
  assert.deepEqual(names([trial("t01", "round", ROUND, { figures: beyond })]), []);
});

Deno.test("the best recipes of earlier studies come first, with the study and its likeness as the reason", () => {
  const slow = trial("t01", "octet", {}, { figures: figures(0.6, 8) });
  const fast = trial("t02", "round", ROUND, { figures: figures(0.594, 4) });
  const [first, second] = found([slow, fast]);
  assert.deepEqual(first!.actions, [{ agent: "shrinking", method: "round", params: ROUND }]);
  assert.equal(second!.actions[0]!.method, "octet");
  const { sampler, mode, reason } = first!.origin;
  assert.deepEqual([sampler, mode], ["earlier_study", "seed"]);
  assert.match(
    reason,
    /^before\/t02 \(small on .*, 1\.00 alike\) gained \d\.\d\d over its baseline/,
  );
});

Deno.test("likeness weighs an earlier study: size, dataset, its class and the limit", () => {
  const spec = inferSpec(request({ constraints: LIMIT }), facts, plugins);
  const alike = (more: Partial<EarlierTrial>) =>
    similarityTo(trial("t01", "octet", {}, more), spec, facts);
  assert.equal(alike({}), 1);
  assert.equal(alike({ parameters: 4 * PARAMETERS }), 0.5);
  assert.equal(alike({ parameters: PARAMETERS / 4 }), 0.5);
  assert.equal(alike({ dataset: "other" }), 0.8);
  assert.equal(alike({ dataset: "other", dataset_class: "math" }), 0.5);
  assert.equal(alike({ max_accuracy_drop: 0.1 }), 0.8);
  const { parameters: _, dataset_class: __, max_accuracy_drop: ___, ...old } = trial(
    "t01",
    "octet",
  );
  assert.equal(similarityTo({ ...old, dataset: "other" }, spec, facts), 0.5 * 0.5 * 0.8);
  const far = { parameters: 100 * PARAMETERS };
  assert.deepEqual(names([trial("t01", "octet", {}, far)]), [], "too far to be a reason");
  const near = trial("t02", "octet", {}, { figures: figures(0.6, 8) });
  const afar = trial("t01", "round", ROUND, {
    figures: figures(0.6, 7),
    parameters: 9 * PARAMETERS,
  });
  assert.deepEqual(names([afar, near]), ["octet", "round"], "a third of 0.3 is less than 0.2");
});

Deno.test("what lost too much, gained nothing, never ended, cannot run here or was said twice is no first try", () => {
  const none: Record<string, EarlierTrial> = {
    lost: trial("t01", "octet", {}, { figures: figures(0.57, 4) }),
    slower: trial("t02", "octet", {}, { figures: figures(0.6, 12) }),
    proxy: trial("t03", "octet", {}, { fidelity: "proxy" }),
    stopped: trial("t04", "octet", {}, { state: "stopped" }),
    gpu: trial("t05", "gpu_only", { bits: 4, group_size: 64 }),
    gone: trial("t06", "gone"),
    knob: trial("t07", "round", { ...ROUND, bits: 5 }),
    nothing: trial("t08", "octet", {}, { figures: {} }),
    zero: trial("t09", "octet", {}, {
      figures: { ...figures(0.6, 5), accuracy: { value: 0.6, baseline: 0 } },
    }),
    empty: { ...trial("t10", "octet"), actions: [] },
  };
  for (const [why, one] of Object.entries(none)) assert.deepEqual(names([one]), [], why);
  assert.deepEqual(names([none["lost"]!], { constraints: { max_accuracy_drop: 0.05 } }), ["octet"]);
  assert.deepEqual(names([trial("t01", "octet"), trial("t02", "octet")]), ["octet"]);
  assert.deepEqual(names([]), []);
  assert.deepEqual(
    names([trial("t01", "octet")], { methods: ["round"] }),
    [],
    "left out by the user",
  );
});

Deno.test("a rise of perplexity counts against five times the drop, and less of it is a gain", () => {
  const text = (value: number) =>
    trial("t01", "octet", {}, {
      figures: { ...figures(0, 5), accuracy: undefined!, perplexity: { value, baseline: 20 } },
    });
  const of = (value: number) => {
    const { accuracy: _, ...rest } = text(value).figures;
    return names([{ ...text(value), figures: rest }]);
  };
  assert.deepEqual(of(21.9), ["octet"]);
  assert.deepEqual(of(22.1), []);
});

Deno.test("a study tries earlier recipes after the user's and before rules and seeds; without them it begins as ever", async () => {
  const earlier = [trial("t01", "round", ROUND)];
  const order = async (given: EarlierTrial[]) => {
    const user = { actions: [{ agent: "shrinking", method: "tune", params: {} }] };
    const w = world({ strategies: [user], max_trials: 3, constraints: LIMIT });
    const { trials } = await run(w, { samplers: [], earlier: given });
    return trials.slice(1).map(({ strategy }) => strategy!.origin.sampler);
  };
  assert.deepEqual(await order(earlier), ["user", "earlier_study", "seed"]);
  assert.deepEqual(await order([]), ["user", "seed", "seed"]);
});
