import assert from "node:assert/strict";
import { type Facts, inferSpec, Spec, UsageError } from "../../core/mod.ts";
import {
  largeFacts,
  methods,
  plugins,
  request,
  round,
  runtimes,
  smallFacts,
  withDataset,
} from "./spec_fixtures.ts";

const small = smallFacts();
const large = largeFacts();

/** The sentence of the UsageError that the call ends with. */
function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  assert.fail("nothing was refused");
}

Deno.test("inferSpec() returns the required keys, in the schema's shape", () => {
  const spec = inferSpec(request(), small, plugins);
  assert.deepEqual(Spec.parse(spec), spec);
  assert.equal(spec.model_size_gb, 0.269);
  assert.deepEqual(spec.preferred_quant, ["octet", "tune"]);
  assert.deepEqual(spec.default_constraints, { max_accuracy_drop: 0.02, max_vram_gb: null });
});

Deno.test("inferSpec() gives the same spec for the same facts and changes nothing it is given", () => {
  const asked = request();
  const before = structuredClone({ asked, small });
  const first = inferSpec(asked, small, plugins);
  assert.deepEqual(inferSpec(asked, small, plugins), first);
  assert.deepEqual({ asked, small }, before);
});

Deno.test("inferSpec() takes the other order of methods above 10 GB, by size and not by name", () => {
  const named = { ...small, model: { ...small.model, model_name: "Llama-3-70B" } };
  assert.deepEqual(inferSpec(request(), named, plugins).preferred_quant, ["octet", "tune"]);
  assert.deepEqual(inferSpec(request(), large, plugins).preferred_quant, ["solve", "tune"]);
  const ten = { ...small, model: { ...small.model, fp16_bytes: 10e9 } };
  assert.deepEqual(inferSpec(request(), ten, plugins).preferred_quant, ["octet", "tune"]);
});

Deno.test("inferSpec() lists every method with a reason and leaves refused ones out of the order", () => {
  const picky = methods.map((one) =>
    one.method.name === "octet"
      ? {
        ...one,
        method: { ...one.method, supports: () => ({ ok: false, reason: "no channels" }) },
      }
      : one
  ) as typeof methods; // spreading widens ok to boolean
  const spec = inferSpec(request(), small, { ...plugins, methods: picky });
  assert.deepEqual(spec.preferred_quant, ["tune"]);
  const reasons = new Map(spec.methods.map((one) => [one.method, one]));
  assert.equal(reasons.size, methods.length);
  assert.equal(reasons.get("octet")?.reason, "no channels");
  assert.match(reasons.get("gpu_only")?.reason ?? "", /needs a GPU.*two cores/);
  assert.ok(spec.methods.every((one) => one.reason.length > 5));
});

Deno.test("inferSpec() keeps to the methods that were asked for", () => {
  const spec = inferSpec(request({ methods: ["solve"] }), small, plugins);
  assert.deepEqual(spec.methods.filter((m) => m.supported).map((m) => m.method), ["solve"]);
  assert.match(
    refusal(() => inferSpec(request({ methods: ["slove"] }), small, plugins)),
    /Unknown method "slove". Did you mean "solve"/,
  );
  assert.match(
    refusal(() => inferSpec(request({ methods: ["gpu_only"] }), small, plugins)),
    /no method can run here: gpu_only: gpu_only needs a GPU.*/,
    "the reasons of others are not asked for",
  );
});

Deno.test("inferSpec() goes by accuracy for math and code and by latency for words", () => {
  const math = inferSpec(request(), withDataset(small, "gsm8k"), plugins);
  assert.equal(math.primary_objective, "accuracy");
  assert.equal(math.dataset_class, "math");
  const programs = { ...plugins.tasks[0]!, name: "programs", datasets: [] };
  const code = inferSpec(request(), withDataset(small, "code"), { ...plugins, tasks: [programs] });
  assert.equal(code.primary_objective, "accuracy");
  const words = inferSpec(request(), small, plugins);
  assert.equal(words.primary_objective, "latency");
  assert.ok(math.reward_weights.accuracy > words.reward_weights.accuracy);
});

Deno.test("inferSpec() puts accuracy, latency and bytes on the front", () => {
  const spec = inferSpec(request(), small, plugins);
  assert.deepEqual(spec.objectives.map((o) => [o.metric, o.direction]), [
    ["accuracy", "maximize"],
    ["latency_ms", "minimize"],
    ["size_bytes", "minimize"],
  ]);
});

Deno.test("inferSpec() puts perplexity first where a dataset gives nothing else, and says so", () => {
  const spec = inferSpec(request(), withDataset(small, "wikitext-2"), plugins);
  assert.equal(spec.objectives[0]?.metric, "perplexity");
  assert.equal(spec.objectives[0]?.direction, "minimize");
  assert.ok(spec.tasks.every((task) => task.primary));
  assert.ok(spec.warnings.some((w) => w.includes("accuracy constraint does not apply")));
});

Deno.test("inferSpec() takes the GPU's memory as the limit, the target's over it, the user's over both", () => {
  const vram = (more: Parameters<typeof request>[0]) => {
    const spec = inferSpec(request(more), large, plugins);
    const assumption = spec.assumptions.find((a) => a.field === "constraints.max_vram_gb");
    return [spec.constraints.max_vram_gb, assumption?.source];
  };
  assert.deepEqual(vram({}), [48, "inferred"]);
  assert.deepEqual(vram({ target: "T4" }), [16, "target"]);
  assert.deepEqual(vram({ target: "t4", constraints: { max_vram_gb: 7 } }), [7, undefined]);
});

Deno.test("inferSpec() takes half of a target's memory where its system shares it", () => {
  const spec = inferSpec(request({ target: "Raspberry Pi 5" }), small, plugins);
  assert.equal(spec.constraints.max_vram_gb, 4);
  assert.equal(spec.constraints.max_size_gb, 4);
  const sources = spec.assumptions.filter((a) => a.source === "target").map((a) => a.field);
  assert.deepEqual(sources, ["constraints.max_vram_gb", "constraints.max_size_gb"]);
  assert.match(
    refusal(() => inferSpec(request({ target: "egde" }), small, plugins)),
    /Unknown target "egde". Did you mean "edge"/,
  );
});

Deno.test("inferSpec() scales the user's weights to 1 and refuses weights that are all zero", () => {
  const asked = request({ objectives: { accuracy: 0.6, latency: 0.2 } });
  const { reward_weights, assumptions } = inferSpec(asked, small, plugins);
  assert.ok(Math.abs(reward_weights.accuracy - 0.75) < 1e-12);
  assert.ok(Math.abs(reward_weights.latency - 0.25) < 1e-12);
  assert.equal(reward_weights.memory + reward_weights.energy, 0);
  assert.ok(!assumptions.some((a) => a.field === "reward_weights"));
  const none = request({ objectives: { accuracy: 0, energy: 0 } });
  assert.match(refusal(() => inferSpec(none, small, plugins)), /at least one weight.*accuracy/);
});

Deno.test("inferSpec() takes a weight of CO2, and warns where it can only be estimated", () => {
  const spec = (reader: Facts["device"]["energy_reader"]) => {
    const facts = smallFacts();
    const device = { ...facts.device, energy_reader: reader };
    const asked = request({ objectives: { accuracy: 0.6, co2: 0.2 } });
    return inferSpec(asked, { ...facts, device }, plugins);
  };
  assert.ok(Math.abs(spec("rapl").reward_weights.co2! - 0.25) < 1e-12);
  const warned = (reader: Facts["device"]["energy_reader"]) =>
    spec(reader).warnings.filter((one) => /A weight is given to CO2, which/.test(one)).length;
  assert.deepEqual([warned("estimate"), warned("rapl")], [1, 0]);
  const without = inferSpec(request({}), smallFacts(), plugins).reward_weights;
  assert.ok(!("co2" in without), "nobody weighed it");
});

Deno.test("inferSpec() warns where energy is weighed and can only be estimated", () => {
  const asked = request({ objectives: { accuracy: 0.5, energy: 0.5 } });
  const warned = (facts: typeof small) =>
    inferSpec(asked, facts, plugins).warnings.some((w) => w.includes("energy"));
  assert.equal(warned(small), true);
  assert.equal(warned(large), false);
  const aimed = request({ constraints: { goals: { energy: "+10%" } } });
  const goal = /^A goal is set on energy, .* the estimate is shown and judges none$/;
  assert.ok(inferSpec(aimed, small, plugins).warnings.some((one) => goal.test(one)));
  assert.ok(!inferSpec(aimed, large, plugins).warnings.some((one) => goal.test(one)));
});

Deno.test("inferSpec() warns of a model whose weights lie on a grid", () => {
  const grid = { bits: 4, group_size: 32, symmetric: false, fraction: 1, relative_error: 0 };
  const facts = { ...small, model: { ...small.model, grid } };
  const { warnings } = inferSpec(request(), facts, plugins);
  assert.ok(warnings.some((w) => /an asymmetric 4-bit grid in groups of 32 \(100 %/.test(w)));
  assert.deepEqual(inferSpec(request(), small, plugins).warnings, []);
});

Deno.test("inferSpec() chooses the preferred runtime that runs here, or the one asked for", () => {
  assert.equal(inferSpec(request(), small, plugins).runtime, "swift");
  assert.equal(inferSpec(request(), large, plugins).runtime, "served");
  const asked = inferSpec(request({ runtime: "plain" }), small, plugins);
  assert.equal(asked.runtime, "plain");
  assert.ok(!asked.assumptions.some((a) => a.field === "runtime"));
  assert.match(
    refusal(() => inferSpec(request({ runtime: "served" }), small, plugins)),
    /Cannot measure speed in served here: needs a GPU; leave --runtime out/,
  );
  assert.match(
    refusal(() => inferSpec(request({ runtime: "swfit" }), small, plugins)),
    /Did you mean "swift"/,
  );
  const cold = runtimes.map((one) =>
    one.name !== "swift"
      ? one
      : { ...one, holds: () => ({ ok: false as const, reason: "holds floats alone" }) }
  );
  const narrow = { ...plugins, runtimes: cold };
  for (const methods of [undefined, ["round"]]) {
    const chosen = inferSpec(request({ methods }), small, narrow);
    assert.equal(chosen.runtime, "plain", "it holds what the methods write");
  }
  assert.match(
    refusal(() => inferSpec(request({ methods: ["round"], runtime: "swift" }), small, narrow)),
    /no method can run here: .*round: its speed cannot be measured in swift: holds floats alone/,
  );
  const served = { ...plugins, runtimes: runtimes.filter((one) => one.name === "served") };
  assert.match(refusal(() => inferSpec(request(), small, served)), /no runtime runs Llama/);
});

Deno.test("inferSpec() needs more memory for a larger model and says when it is not there", () => {
  const needed = inferSpec(request(), small, plugins).required_memory_gb;
  assert.ok(needed > 0.538 && needed < 3, `${needed}`);
  const halved = { ...small, device: { ...large.device } };
  const on_gpu = inferSpec(request(), halved, plugins).required_memory_gb;
  assert.ok(needed - on_gpu > 0.269, `16 bits on a GPU: ${on_gpu}`);
  const tight = { ...large, device: { ...large.device, free_vram_gb: 12 } };
  const spec = inferSpec(request(), tight, plugins);
  assert.ok(spec.required_memory_gb > 16);
  assert.ok(spec.warnings.some((w) => /needs about \d+\.\d GB of GPU memory: 12\.0 GB/.test(w)));
});

Deno.test("inferSpec() records every value that nobody gave", () => {
  const { assumptions } = inferSpec(request(), small, plugins);
  assert.deepEqual(assumptions.map((one) => one.field), [
    "constraints.max_accuracy_drop",
    "constraints.max_vram_gb",
    "dataset_class",
    "primary_objective",
    "objectives",
    "reward_weights",
    "samples.proxy",
    "samples.full",
    "sampling",
    "runtime",
  ]);
  const drop = request({ constraints: { max_accuracy_drop: 0.05 } });
  const told = inferSpec(drop, small, plugins);
  assert.equal(told.constraints.max_accuracy_drop, 0.05);
  assert.equal(told.default_constraints.max_accuracy_drop, 0.02);
  assert.ok(!told.assumptions.some((a) => a.field === "constraints.max_accuracy_drop"));
});

Deno.test("inferSpec() runs a user's own strategies even where no method of its list can", () => {
  const strategies = [{ actions: [{ agent: "shrinking", method: round.name, params: {} }] }];
  const spec = inferSpec(request({ methods: ["gpu_only"], strategies }), small, plugins);
  assert.ok(spec.methods.every((one) => !one.supported));
});
