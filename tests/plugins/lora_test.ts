import assert from "node:assert/strict";
import {
  type Action,
  checkStrategy,
  dataNeed,
  heldMethods,
  resolveActions,
  totalBytes,
} from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const { methods, runtime } = await discoverPlugins();
const facts = smallFacts();
const lora = (params: Action["params"]): Action => ({
  agent: "finetuning",
  method: "lora",
  params,
});
const rtn: Action = {
  agent: "quantization",
  method: "rtn",
  params: { bits: 8, group_size: -1 },
};
const entry = methods.find(({ method }) => method.name === "lora")!;

function refusal(actions: Action[], runtimeName = "transformers"): string {
  const held = heldMethods(methods, runtime(runtimeName));
  const verdict = checkStrategy(resolveActions(actions, held, facts), held, facts);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("lora goes before rounding where it is merged, and not after it", () => {
  assert.equal(refusal([lora({}), rtn]), "");
  assert.match(
    refusal([lora({ merge: false }), rtn]),
    /an adapter lies beside its weights: with merge/,
  );
  assert.match(refusal([lora({ merge: false }), lora({})]), /an adapter lies beside its weights/);
  assert.match(refusal([rtn, lora({})]), /lora cannot follow|comes last there/);
});

Deno.test("a runtime that cannot hold an adapter says so in words, before any work", () => {
  for (const name of ["transformers", "openvino", "llama.cpp"]) {
    assert.equal(refusal([lora({ merge: false })], name), "");
  }
  assert.equal(refusal([lora({})], "vllm"), "");
  assert.match(
    refusal([lora({ merge: false })], "vllm"),
    /its speed cannot be measured in vllm: .* weights stored as adapter/,
  );
});

Deno.test("an adapter counts in the bytes, by its rank; merged it leaves the model as it is", () => {
  const leaves = (params: Action["params"]) => {
    const [action] = resolveActions([lora(params)], methods, facts);
    return totalBytes(entry.method.leaves(action!.params, facts).model);
  };
  const before = leaves({});
  const sides = facts.model.linear_shapes.reduce(
    (sum, { out_features, in_features, count }) => sum + count * (out_features + in_features),
    0,
  );
  assert.equal(leaves({ merge: false, rank: 4 }) - before, 2 * 4 * sides);
  assert.equal(leaves({ merge: false, rank: 8 }) - before, 2 * 8 * sides);
});

Deno.test("lora trains on every training window, of each as many tokens as it says", () => {
  const need = dataNeed(entry.method, { tokens: 64 });
  assert.deepEqual(need, { kind: "training", windows: null, tokens: 64 });
});

Deno.test("names of the requirements and of the literature are the knobs'", () => {
  const given = {
    lora_rank: 4,
    lora_alpha: 8,
    learning_rate: 0.001,
    max_steps: 30,
    use_dora: true,
  };
  const [action] = resolveActions([lora(given)], methods, facts);
  const { rank, alpha, lr, steps, dora } = action!.params;
  assert.deepEqual({ rank, alpha, lr, steps, dora }, {
    rank: 4,
    alpha: 8,
    lr: 0.001,
    steps: 30,
    dora: true,
  });
});

Deno.test("factors above a layer's width, and DoRA kept as an adapter, are refused before any work", () => {
  const narrow = { ...facts.model.linear_shapes[0]!, out_features: 16 };
  const model = { ...facts.model, linear_shapes: [narrow] };
  const verdict = entry.method.accepts(
    resolveActions([lora({ rank: 32 })], methods, facts)[0]!.params,
    { ...facts, model },
  );
  assert.match(verdict.reason ?? "", /a rank of 32 is above 16, the narrowest layer's width/);
  assert.match(refusal([lora({ dora: true, merge: false })]), /it is merged, or left out/);
  assert.equal(refusal([lora({ dora: true })]), "");
});

Deno.test("no factors stand beside Mamba's mixers, which are trained whole", () => {
  const alone = { ...facts, model: { ...facts.model, model_type: "mamba" } };
  for (const name of ["lora", "qlora", "eora"]) {
    const { method } = methods.find((one) => one.method.name === name)!;
    assert.equal(
      method.supports(alone).reason,
      "peft puts no factors beside the out_proj of mamba: take full",
      name,
    );
  }
  assert.deepEqual(methods.find((one) => one.method.name === "full")!.method.supports(alone), {
    ok: true,
  });
});

Deno.test("full fine-tuning is refused above a size in one sentence, and takes its memory", () => {
  const { method } = methods.find((one) => one.method.name === "full")!;
  const params = Object.fromEntries(
    Object.entries(method.knobs).map(([name, { default: value }]) => [name, value]),
  );
  const large = { ...facts, model: { ...facts.model, parameters: 7_000_000_000 } };
  assert.match(
    method.supports(large).reason ?? "",
    /at most 500 million, the model has 7000: lora trains a few beside them/,
  );
  const small = { ...facts, model: { ...facts.model, parameters: 135_000_000 } };
  assert.equal(method.supports(small).ok, true);
  // Weights, gradients, two moments and the best weights, in float32, and a copy of most while saved.
  const bytes = method.estimateMemory(params, small) / 135e6;
  assert.ok(bytes > 36 && bytes < 60, `${bytes} bytes a weight`);
});

Deno.test("weights of no plain linear layer are not to be held in four bits", () => {
  const layer = "transformer.h.0.attn.c_attn";
  const turned = { ...facts, model: { ...facts.model, special_linear: layer } };
  for (const { method } of methods.filter((one) => /^q?lora$/.test(one.method.name))) {
    const found = [method.supports(turned), method.accepts?.({ rank: 8 }, turned)];
    if (method.name === "lora") assert.ok(found.every((one) => one?.ok));
    else {for (const one of found) {
        assert.match(one?.reason ?? "", /c_attn is no plain linear layer/);
      }}
    const plain = { ...facts, model: { ...facts.model, special_linear: null } };
    assert.ok(method.supports(plain).ok);
  }
});

Deno.test("what is trained may be rounded afterwards, and a mixture of experts is refused", () => {
  for (const name of ["lora", "qlora", "full"]) {
    const action = { agent: "finetuning", method: name, params: {} };
    assert.equal(refusal([action, rtn]), "");
    assert.match(refusal([rtn, action]), /cannot follow|comes last there/);
    const { method } = methods.find((one) => one.method.name === name)!;
    const mixture = { ...facts, model: { ...facts.model, expert_parameters: 5 } };
    const whole = { ...action, params: name === "lora" ? { targets: "all" } : {} };
    const { params } = resolveActions([whole], methods, mixture)[0]!;
    const verdict = method.supports(mixture).ok
      ? method.accepts(params, mixture)
      : method.supports(mixture);
    assert.match(verdict.ok ? "" : verdict.reason, /not those of experts/);
  }
});

Deno.test("of a mixture attention takes factors, which is what is taken where nobody says", () => {
  const mixture = { ...facts, model: { ...facts.model, expert_parameters: 5 } };
  const [resolved] = resolveActions([lora({})], methods, mixture);
  assert.equal(resolved!.params["targets"], "attention");
  assert.deepEqual(checkStrategy([resolved!], methods, mixture), { ok: true });
  assert.deepEqual(entry.method.seed("conservative", mixture), { targets: "attention" });
  assert.equal(resolveActions([lora({})], methods, facts)[0]!.params["targets"], "all");
});
