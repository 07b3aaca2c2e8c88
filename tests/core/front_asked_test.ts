/** A front that the request names: its objectives are those, wherever the front is read. */
import assert from "node:assert/strict";
import {
  comparableStudy,
  type Facts,
  frontHypervolume,
  frontOf,
  inferSpec,
  type Measurement,
  objectivesSentence,
  paretoFront,
  StudyRequest,
} from "../../core/mod.ts";
import { plugins, request, smallFacts } from "./spec_fixtures.ts";
import { figure, run, world } from "./study_world.ts";

const ASKED = ["size", "accuracy", "memory"];
const counter = smallFacts();
const readable: Facts = { ...counter, device: { ...counter.device, energy_reader: "rapl" } };

Deno.test("a study goes by the objectives that its request names, the quality first", async () => {
  const w = world({ front: ASKED, max_trials: 6 });
  const { spec } = w.input();
  assert.deepEqual(spec.objectives.map(({ metric, direction }) => [metric, direction]), [
    ["accuracy", "maximize"],
    ["size_bytes", "minimize"],
    ["memory_bytes", "minimize"],
  ]);
  const { trials, front } = await run(w);
  const study = comparableStudy(trials, spec);
  const { members, dominated } = frontOf(study);
  const all = [...members, ...dominated];
  const value = (rows: readonly Measurement[], metric: string) =>
    rows.findLast((row) =>
      row.metric === metric && row.task === null && row.slice === null &&
      (metric !== "accuracy" || row.fidelity === "full")
    )!.value;
  const points = all.map(({ trial: { measurements } }) =>
    ["accuracy", "size_bytes", "memory_bytes"].map((metric) => value(measurements, metric))
  );
  const kept = paretoFront(points, ["maximize", "minimize", "minimize"])
    .map((i) => all[i]!.trial.trial_id);
  assert.deepEqual([...front].sort(), kept.sort());
  assert.ok(frontHypervolume(study, smallFacts())! > 0);
  assert.equal(
    objectivesSentence({ spec, without: study.without }),
    "The front is of accuracy, size on disk and memory, as asked.",
  );
  // The reward weighs what the front is of, and none else.
  const terms = study.trials.flatMap(({ reward }) => reward?.terms ?? [])
    .filter(({ term }) => term !== "penalty");
  assert.deepEqual([...new Set(terms.map(({ term }) => term))], ["accuracy", "size", "memory"]);
  assert.ok(terms.every(({ normalised }) => normalised !== null));
});

Deno.test("a study that asks for no front has the one that it always had, and no sentence of it", () => {
  const { spec } = world().input();
  assert.equal(objectivesSentence({ spec, without: [] }), null);
  const { assumptions: _, ...old } = spec;
  assert.equal(objectivesSentence({ spec: { ...old, assumptions: [] }, without: [] }), null);
});

Deno.test("a front of perplexity is of the tasks that report it, though others report accuracy", () => {
  const { spec } = world({ front: ["size", "perplexity"] }).input();
  assert.deepEqual(spec.objectives.map(({ metric }) => metric), ["perplexity", "size_bytes"]);
  const primary = spec.tasks.filter((plan) => plan.primary).map(({ metric }) => metric);
  assert.deepEqual(primary, ["perplexity"]);
  assert.ok(spec.tasks.some(({ metric }) => metric === "accuracy"));
  assert.match(
    spec.warnings.join(" "),
    /Perplexity is asked for: the accuracy constraint does not/,
  );
});

Deno.test("a front that cannot be had is refused in one sentence", () => {
  const refused = (front: string[], message: RegExp, facts = readable) =>
    assert.throws(() => inferSpec(request({ front }), facts, plugins), {
      name: "UsageError",
      message,
    });
  refused(["accuracy", "sise"], /^Unknown objective of the front "sise"\. Did you mean "size"\?/);
  refused(["answer_likelihood", "size"], /on a rung below the last one: set a gate on it$/);
  refused(["f1", "size"], /front of f1 as it is the figure of single tasks: .* called accuracy/);
  refused(["accuracy", "size", "size_bytes"], /names size_bytes twice/);
  refused(["latency", "size"], /it must name one quality, accuracy or perplexity/);
  refused(["accuracy", "perplexity"], /it must name one quality/);
  const sums = { ...readable, dataset: { ...readable.dataset, dataset: "gsm8k" } };
  refused(["perplexity", "size"], /perplexity as no task of this study gives it: sums rep/, sums);
  refused(["accuracy", "gpu_memory_bytes"], /as no GPU is used here: take memory_bytes/);
  const estimating: Facts = {
    ...counter,
    device: { ...counter.device, energy_reader: "estimate" },
  };
  refused(["accuracy", "energy"], /energy as it can only be estimated on this machine/, estimating);
  const one = { model_name: "m", dataset: "d", front: ["accuracy"] };
  assert.equal(StudyRequest.safeParse(one).success, false, "one objective is no trade-off");
});

Deno.test("energy of other minutes is compared by its ratio to the baseline beside it", async () => {
  const w = world({ front: ["accuracy", "energy"], max_trials: 2 }, { facts: readable });
  const { spec } = w.input();
  const { trials } = await run(w);
  const joules = "energy_j_per_1k_tokens";
  // The second session's machine drew twice as much for everything.
  const rows = [[10], [20, 0.5], [5, 0.6]].map(([own, ratio]) => [
    { ...figure(joules, own!, spec.runtime, 0.1) },
    ...(ratio === undefined ? [] : [figure("energy_ratio", ratio, spec.runtime, 0.01)]),
  ]);
  const drawn = trials.slice(0, 3).map((trial, i) => ({
    ...trial,
    measurements: [...trial.measurements, ...rows[i]!],
  }));
  const study = comparableStudy(drawn, spec);
  const { members, dominated } = frontOf(study);
  const energy = Object.fromEntries(
    [...members, ...dominated].map(({ trial, point }) => [trial.number, point[1]]),
  );
  assert.equal(energy[0], 10);
  for (const { number } of drawn.slice(1)) {
    if (number in energy) assert.ok([5, 6].includes(energy[number]!), `${energy[number]}`);
  }
  assert.ok(Object.keys(energy).length > 1);
});
