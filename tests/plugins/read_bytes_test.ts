/** What latency is foretold to be by the bytes that a token reads, and what is refused by it. */
import assert from "node:assert/strict";
import {
  type Action,
  checkStrategy,
  heldMethods,
  limitsOf,
  type Measurement,
  readRatio,
  resolveActions,
} from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_facts.ts";
import { request } from "../core/spec_fixtures.ts";
import { inferSpec } from "../../core/mod.ts";

/** Shapes of SmolLM2-135M. */
const facts = smallFacts();
facts.model = {
  ...facts.model,
  ...{ parameters: 134_515_008, embedding_parameters: 28_311_552, linear_parameters: 106_168_320 },
  ...{ group_sizes: [16, 32, 48, 64, 96, 192], head_dim: 64 },
  linear_shapes: [
    { out_features: 576, in_features: 576, count: 60 },
    { out_features: 192, in_features: 576, count: 60 },
    { out_features: 1536, in_features: 576, count: 60 },
    { out_features: 576, in_features: 1536, count: 30 },
  ],
};
const registry = await discoverPlugins();
const four: Action[] = [
  { agent: "quantization", method: "gptq", params: { bits: 4, group_size: 64 } },
];
const both: Action[] = [
  ...four,
  {
    agent: "quantization",
    method: "rtn",
    params: { bits: 8, group_size: 64, targets: "embedding" },
  },
];

function ratio(runtime: string, actions: Action[], of = facts): number | null {
  const methods = heldMethods(registry.methods, registry.runtime(runtime));
  return readRatio(resolveActions(actions, methods, of), methods, of);
}

Deno.test("the bytes that a token reads are foretold as OpenVINO counts them for the same recipe", () => {
  // Counted by the runtime on SmolLM2-135M.
  const counted = 89_941_860;
  const foretold = ratio("openvino", both)! * 4 * facts.model.parameters;
  assert.ok(Math.abs(foretold / counted - 1) < 0.005, `${foretold} against ${counted}`);
});

Deno.test("each runtime reads as it holds: 3 bits as 4, floats as its own, emulated as none saved", () => {
  const three = [{ ...four[0]!, params: { bits: 3, group_size: 64 } }];
  const near = (found: number | null, wanted: number) =>
    assert.ok(Math.abs(found! - wanted) < 1e-3, `${found} against ${wanted}`);
  near(ratio("openvino", three), ratio("openvino", four)!);
  assert.ok(ratio("openvino", both)! < ratio("openvino", four)!);
  near(ratio("transformers", both), 1);
  near(ratio("llama.cpp", four), ((106.168 * 4.5 + (134.515 - 106.168) * 16) / 16) / 134.515);
  const zeros = [{ agent: "pruning", method: "magnitude", params: {} }];
  near(ratio("openvino", zeros), 1);
  const narrow = ratio("openvino", [{ agent: "pruning", method: "channels", params: {} }])!;
  assert.ok(narrow > 0.6 && narrow < 1, String(narrow));
});

Deno.test("a head of its own is read beside no embedding; a mixture of experts is not foretold", () => {
  const model = { ...facts.model, tied_embeddings: false, parameters: 162_826_560 };
  const untied = { ...facts, model: { ...model, embedding_parameters: 2 * 28_311_552 } };
  assert.ok(Math.abs(ratio("openvino", four, untied)! - ratio("openvino", four)!) < 1e-3);
  const mixture = { ...facts, model: { ...facts.model, expert_parameters: 50_000_000 } };
  assert.equal(ratio("openvino", four, mixture), null);
});

Deno.test("a recipe that reads for longer than the latency limit is refused before any work", () => {
  const methods = heldMethods(registry.methods, registry.runtime("openvino"));
  const plain = inferSpec({ ...request(), runtime: "openvino" }, facts, registry);
  const spec = { ...plain, constraints: { ...plain.constraints, max_latency_ms: 4 } };
  const row = { metric: "roofline_ms", value: 16, runtime: "openvino" } as Measurement;
  const timed = [{ strategy: null, measurements: [row] }];
  const verdict = (actions: Action[], trials: Parameters<typeof limitsOf>[1]) =>
    checkStrategy(resolveActions(actions, methods, facts), methods, facts, limitsOf(spec, trials));
  const refused = verdict(four, timed);
  assert.ok(!refused.ok);
  assert.match(refused.reason, /about 5\.\d\d ms per token: the latency limit is 4 ms/);
  assert.deepEqual(verdict(both, timed), { ok: true }); // 2.7 ms
  assert.deepEqual(verdict(four, []), { ok: true }); // nothing is timed yet
});
