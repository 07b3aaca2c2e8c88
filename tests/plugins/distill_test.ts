import assert from "node:assert/strict";
import {
  type Action,
  checkStrategy,
  dataNeed,
  type Facts,
  heldMethods,
  resolveActions,
  totalBytes,
  withOwnNames,
} from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const { methods, runtime } = await discoverPlugins();
const facts = smallFacts();
/** The same with plain decoder layers, which can be cut. */
const plain = {
  ...facts,
  model: {
    ...facts.model,
    ...{ layers: 2, hidden_size: 64, intermediate_size: 128, heads: 4, kv_heads: 2, head_dim: 16 },
    linear_shapes: [
      { out_features: 64, in_features: 64, count: 4 },
      { out_features: 32, in_features: 64, count: 4 },
      { out_features: 128, in_features: 64, count: 4 },
      { out_features: 64, in_features: 128, count: 2 },
    ],
    ...{ linear_parameters: 73_728, group_sizes: [16, 32, 64] },
  },
};
const { method } = methods.find(({ method }) => method.name === "distill")!;

const action = (agent: string, name: string, params: Action["params"] = {}): Action => ({
  agent,
  method: name,
  params,
});
const distill = (params: Action["params"] = {}) => action("distillation", "distill", params);
const magnitude = action("pruning", "magnitude", { sparsity: 0.5 });
const channels = action("pruning", "channels", { mlp_ratio: 0.25, round_to: 32 });
const rtn = action("quantization", "rtn", { bits: 8, group_size: -1 });

function refusal(actions: Action[], runtimeName = "transformers"): string {
  const held = heldMethods(methods, runtime(runtimeName));
  const verdict = checkStrategy(resolveActions(actions, held, plain), held, plain);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("distill follows what prunes or resizes and precedes what rounds; factors may lie beside integers", () => {
  assert.equal(refusal([channels, distill(), rtn]), "");
  assert.equal(refusal([magnitude, distill(), rtn]), "");
  assert.equal(refusal([channels, distill({ student_weights: "factors" }), rtn]), "");
  // Cut in turns, each won back before the next one.
  const lora = action("finetuning", "lora");
  for (const back of [distill(), lora, action("finetuning", "qlora")]) {
    assert.equal(refusal([channels, back, channels, back, rtn]), "", back.method);
  }
  assert.match(refusal([rtn, channels]), /channels cannot follow on the linear weights/);
  assert.match(refusal([channels, rtn, distill()]), /distill cannot follow|comes last there/);
  assert.match(
    refusal([channels, distill({ student_weights: "adapter" }), rtn]),
    /an adapter lies beside its weights/,
  );
  for (const name of ["transformers", "openvino", "llama.cpp"]) {
    assert.equal(refusal([rtn, distill({ student_weights: "adapter" })], name), "");
  }
});

Deno.test("distill leaves the sizes that it met, factors beside them counted by their rank", () => {
  const left = (params: Action["params"]) => {
    const [resolved] = resolveActions([distill(params)], methods, facts);
    return totalBytes(method.leaves(resolved!.params, facts).model);
  };
  const before = totalBytes(facts.model);
  assert.equal(left({}), before);
  assert.equal(left({ student_weights: "factors" }), before);
  const sides = facts.model.linear_shapes.reduce(
    (sum, { out_features, in_features, count }) => sum + count * (out_features + in_features),
    0,
  );
  assert.equal(left({ student_weights: "adapter", rank: 4 }) - before, 2 * 4 * sides);
});

Deno.test("more tokens than the teacher has, or a rank above the width, are refused in words", () => {
  const { vocabulary } = facts.model;
  const few = { ...facts, model: { ...facts.model, vocabulary: 50 } };
  const defaults = resolveActions([distill()], methods, facts)[0]!.params;
  const verdict = method.accepts(defaults, few);
  assert.ok(!verdict.ok && verdict.reason === "top_k is 64: the teacher has 50 tokens");
  assert.ok(vocabulary > 64 && method.accepts(defaults, facts).ok);
  assert.equal(method.auto!(few)["top_k"]!.value, 50);
});

Deno.test("distill takes training windows and the original, and begins no study by itself", () => {
  assert.equal(method.needs.teacher, true);
  assert.deepEqual(dataNeed(method, { tokens: 64 }), {
    kind: "training",
    windows: null,
    tokens: 64,
  });
  for (const boldness of ["conservative", "balanced", "aggressive"] as const) {
    assert.equal(method.seed(boldness, facts), null);
  }
  const large = { ...facts, model: { ...facts.model, fp16_bytes: 3e9 } };
  assert.equal(method.auto!(facts)["student_weights"]!.value, "all");
  assert.equal(method.auto!(large)["student_weights"]!.value, "factors");
});

Deno.test("a named student takes the untouched model's place, and no other", () => {
  const named = distill({ student_from: "named" });
  const student = { ...plain.model, ...{ layers: 1, parameters: 50_000, fp16_bytes: 100_000 } };
  const check = (actions: Action[], known: Facts) => {
    const verdict = checkStrategy(resolveActions(actions, methods, known), methods, known);
    return verdict.ok ? "" : verdict.reason;
  };
  assert.match(check([named], plain), /name one with --student and let distill be the first/);
  assert.equal(check([named, rtn], { ...plain, student }), "");
  assert.match(check([magnitude, named], { ...plain, student }), /the untouched model's place/);
  const [resolved] = resolveActions([named], methods, plain);
  const { model, changes } = method.leaves(resolved!.params, { ...plain, student });
  assert.deepEqual([model.layers, model.parameters], [1, 50_000]);
  assert.equal(model.model_name, plain.model.model_name);
  assert.ok(changes.every(({ least_cosine }) => least_cosine === null));
  assert.deepEqual(method.seed("balanced", { ...plain, student }), { student_from: "named" });
});

Deno.test("twice the steps where quality was kept, a third of the learning rate where it was lost", () => {
  const { params } = resolveActions([distill()], methods, facts)[0]!;
  assert.equal(method.next(params, "kept", facts)!["steps"], 80);
  assert.equal(method.next({ ...params, lr: 0.003 }, "lost", facts)!["lr"], 0.001);
});

Deno.test("gkd takes trl's names, needs a window longer than its prefix, and prices what is written", () => {
  const gkd = methods.find(({ method }) => method.name === "gkd")!.method;
  const asked = withOwnNames(
    [action("distillation", "gkd", { lmbda: 1, beta: 1, temperature: 0.5 })],
    methods,
  );
  const own = { on_policy: 1, jsd_beta: 1, sampling_temperature: 0.5 };
  assert.deepEqual(asked[0]!.params, own);
  const { params } = resolveActions([action("distillation", "gkd", own)], methods, facts)[0]!;
  assert.ok(gkd.accepts(params, facts).ok);
  const long = gkd.accepts({ ...params, prefix_tokens: 256 }, facts);
  assert.ok(!long.ok && /256 are not below the 256 tokens of a window/.test(long.reason));
  assert.ok(gkd.accepts({ ...params, prefix_tokens: 256, on_policy: 0 }, facts).ok);
  const named = gkd.accepts({ ...params, student_from: "named" }, facts);
  assert.ok(!named.ok && /let gkd be the first action/.test(named.reason));
  const seconds = (on_policy: number) => gkd.estimateSeconds({ ...params, on_policy }, facts);
  assert.ok(seconds(1) > seconds(0));
  assert.ok(
    gkd.estimateMemory(params, facts) > method.estimateMemory(
      resolveActions([distill()], methods, facts)[0]!.params,
      facts,
    ),
  );
  assert.equal(gkd.seed("balanced", facts), null);
});
