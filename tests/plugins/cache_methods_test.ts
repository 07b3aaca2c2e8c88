import assert from "node:assert/strict";
import {
  type Action,
  checkStrategy,
  knobCombinations,
  knobNeighbours,
  randomKnobValue,
  resolveActions,
  StudyRequest,
} from "../../core/mod.ts";
import { cellsOf } from "../../core/runs/sweep/cells.ts";
import { SweepPlan } from "../../core/runs/sweep/plan.ts";
import { ModelFacts } from "../../core/schemas/facts.ts";
import circuitkv from "../../plugins/kv_cache/circuitkv.ts";
import expectedAttention from "../../plugins/kv_cache/expected_attention.ts";
import h2o from "../../plugins/kv_cache/h2o.ts";
import kvQuant from "../../plugins/kv_cache/kv_quant.ts";
import knorm from "../../plugins/kv_cache/knorm.ts";
import kvpress from "../../plugins/kv_cache/kvpress.ts";
import pyramidkv from "../../plugins/kv_cache/pyramidkv.ts";
import snapkv from "../../plugins/kv_cache/snapkv.ts";
import streaming from "../../plugins/kv_cache/streaming.ts";
import tova from "../../plugins/kv_cache/tova.ts";
import { checkRequest } from "../../tracker/lab/check_request.ts";
import { modelReads } from "../../tracker/lab/model_reads.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_facts.ts";

const facts = { ...smallFacts(), tools: ["kvpress"] };
const entries = [
  circuitkv,
  expectedAttention,
  h2o,
  knorm,
  kvpress,
  kvQuant,
  pyramidkv,
  snapkv,
  streaming,
  tova,
].map((
  method,
) => ({
  agent: "kv_cache",
  method,
}));

function reason(method: string, params: Action["params"]): string {
  const actions = resolveActions([{ agent: "kv_cache", method, params }], entries, facts);
  const verdict = checkStrategy(actions, entries, facts);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("no method is tried on a model whose cache cannot be kept in part", () => {
  const whole = { ...facts, model: { ...facts.model, whole_cache: "its heads share a latent" } };
  for (const { agent, method } of entries) {
    const actions = resolveActions([{ agent, method: method.name, params: {} }], entries, whole);
    const verdict = checkStrategy(actions, entries, whole);
    assert.equal(verdict.ok ? "" : verdict.reason, "its heads share a latent", method.name);
  }
});

Deno.test("a budget must leave a choice, and keep less than the model reads", () => {
  assert.equal(reason("snapkv", { budget: 512 }), "");
  assert.equal(
    reason("snapkv", { budget: 36, window: 32, sinks: 4 }),
    "sinks and window hold 36 tokens: a budget of 36 leaves no room for a choice",
  );
  for (const method of ["snapkv", "pyramidkv"]) {
    assert.equal(reason(method, { kernel: 4 }), "a kernel of 4 tokens is even");
  }
  assert.equal(
    reason("h2o", { budget: 64, sinks: 34 }),
    "sinks and window hold 66 tokens: a budget of 64 leaves no room for a choice",
  );
  assert.equal(reason("h2o", { budget: 64, recent_share: 0, sinks: 34 }), "");
  assert.match(reason("knorm", { budget: 64, sinks: 64 }), /^sinks and window hold 64 tokens/);
  assert.equal(
    reason("snapkv", { budget: 2048 }),
    "the budget keeps 2048 tokens, all of the 2048 that the model reads",
  );
  assert.equal(
    reason("streaming", { sinks: 4, window: 2044 }),
    "sinks and window keep 2048 tokens, all of the 2048 that the model reads",
  );
});

Deno.test("a share of each prompt is a budget too, and goes by the literature's names", () => {
  const share = { budget_in: "share", share: 0.5 };
  assert.equal(reason("snapkv", share), "");
  const [action] = resolveActions(
    [{ agent: "kv_cache", method: "snapkv", params: { ...share, window_size: 16 } }],
    entries,
    facts,
  );
  assert.deepEqual(action!.label, ["50%"]);
  assert.equal(action!.params["window"], 16);
  const { cache } = snapkv.leaves(action!.params, facts).model;
  assert.deepEqual(cache, { kept_tokens: { mean: 1024, most: 1024 }, evict_after: "context" });
  assert.equal(snapkv.next(action!.params, "kept", facts), null);
});

Deno.test("what it tries next has half the budget or twice as much, with a window that fits", () => {
  const asked = { agent: "kv_cache", method: "snapkv", params: { budget: 64, window: 32 } };
  const params = resolveActions([asked], entries, facts)[0]!.params;
  const next = snapkv.next(params, "kept", facts);
  assert.deepEqual([next!["budget"], next!["window"]], [32, 8]);
  assert.equal(snapkv.next(params, "lost", facts)!["budget"], 128);
});

Deno.test("an old record has one number of tokens that are kept", () => {
  const read = ModelFacts.parse({ ...facts.model, cache: { kept_tokens: 516 } });
  assert.deepEqual(read.cache, { kept_tokens: { mean: 516, most: 516 } });
});

const params = (method: string, asked: Action["params"]) =>
  resolveActions([{ agent: "kv_cache", method, params: asked }], entries, facts)[0]!.params;

Deno.test("a pyramid keeps the budget on average, and says what its widest layer keeps", () => {
  const knobs = params("pyramidkv", { budget: 512, window: 32, beta: 20 });
  const { cache } = pyramidkv.leaves(knobs, facts).model;
  assert.deepEqual(cache!.kept_tokens, { mean: 512, most: 32 + 2 * 480 - 24 });
});

Deno.test("what decides token by token may be scored in whole texts; what gathers tokens says how many", () => {
  const leaves = (asked: Action["params"]) => tova.leaves(params("tova", asked), facts).model.cache;
  const kept = { mean: 64, most: 64 };
  assert.deepEqual(leaves({ budget: 64 }), { kept_tokens: kept, evict_after: "context" });
  assert.deepEqual(leaves({ budget: 64, decoding: "each_token" }), { kept_tokens: kept });
  assert.deepEqual(
    leaves({ budget: 64, evict_interval: 17 })!.kept_tokens,
    { mean: 80, most: 80 },
  );
});

Deno.test("reading a prompt token by token is for those who ask: no search varies to it", () => {
  for (const { name, knobs } of [h2o, knorm, tova]) {
    const evicts = knobs["evicts"]!;
    const drawn = [0, 0.34, 0.67, 0.999].map((one) => randomKnobValue(evicts, () => one));
    const moved = ["after_prompt", "each_step"].flatMap((one) => knobNeighbours(evicts, one));
    const looked = [...knobCombinations([["evicts", evicts]])].map((one) => one["evicts"]);
    const all = [...new Set([...drawn, ...moved, ...looked])].toSorted();
    assert.deepEqual(all, ["after_prompt", "each_step"], name);
    assert.equal(reason(name, { evicts: "each_token" }), "");
  }
  assert.throws(
    () => reason("h2o", { evicts: "each" }),
    /one of after_prompt, each_step or each_token/,
  );
});

Deno.test("circuitkv proposes the expectation, and its name tells where walks are drawn", () => {
  assert.equal(circuitkv.seed("aggressive", facts)!["mode"], "expected");
  for (const boldness of ["conservative", "balanced"] as const) {
    assert.equal(circuitkv.seed(boldness, facts), null, "nobody has published it");
  }
  assert.match(circuitkv.summary, /experimental, unpublished/);
  const knobs = params("circuitkv", { mode: "walk" });
  const { num_walkers, num_steps, temperature, sinks } = knobs;
  assert.deepEqual([num_walkers, num_steps, temperature, sinks], [100, 20, 1, 4]);
  assert.deepEqual(circuitkv.label!(params("circuitkv", { mode: "walk" })), ["512", "walk"]);
});

Deno.test("codes are of what stays after a prompt; their bits go up and down from 2 to 4", () => {
  assert.equal(
    reason("h2o", { codes: "kivi" }),
    "tokens that are stored as codes are not let go of each_step: codes are made once, of what the prompt left",
  );
  assert.equal(reason("h2o", { codes: "kivi", evicts: "after_prompt" }), "");
  assert.deepEqual(snapkv.label!(params("snapkv", { codes: "turboquant", code_bits: 3 })), [
    "512",
    "turboquant",
    "3-bit",
  ]);
  const knobs = params("kv_quant", { code_bits: 3 });
  assert.equal(kvQuant.next(knobs, "kept", facts)!["code_bits"], 2);
  assert.equal(kvQuant.next({ ...knobs, code_bits: 4 }, "lost", facts), null);
});

Deno.test("streaming keeps a share of a prompt that is read in full, as its length is known at its end", () => {
  assert.match(
    reason("streaming", { budget_in: "share", share: 0.5 }),
    /^how long a prompt is, is known at its end: a share of it is kept by evicts after_prompt$/,
  );
  const whole = params("streaming", { evicts: "after_prompt", sinks: 4, window: 60 });
  assert.deepEqual(streaming.leaves(whole, facts).model.cache!.evict_after, "context");
  assert.deepEqual(streaming.label!(whole), ["4+60", "read whole"]);
  const share = params("streaming", { ...streaming.keeping!(0.25) as Action["params"] });
  assert.deepEqual(streaming.keeps!(share, 100, facts), { tokens: 25, copies: 1 });
  assert.deepEqual(streaming.label!(share), ["25%", "read whole"]);
  const bare = params("streaming", { window: 60 });
  assert.equal(streaming.leaves(bare, facts).model.cache!.evict_after, undefined);
});

Deno.test("a sweep's budget is what a method keeps, in tokens and as a share", () => {
  const kept = (name: string, budget: number) => {
    const { method } = entries.find((one) => one.method.name === name)!;
    const params = method.keeping?.(budget) ?? { refused: "it has no budget" };
    if ("refused" in params) return params.refused;
    assert.equal(reason(name, params), "");
    const [action] = resolveActions([{ agent: "kv_cache", method: name, params }], entries, facts);
    return method.leaves(action!.params, facts).model.cache?.kept_tokens?.mean;
  };
  const budgeted = entries.map(({ method }) => method.name).filter((name) => name !== "kv_quant");
  for (const name of budgeted) {
    for (const budget of [16, 64, 512]) {
      if (name !== "kvpress") assert.equal(kept(name, budget), budget, name);
    }
    assert.equal(kept(name, 0.25), 512, name);
  }
  assert.match(String(kept("kvpress", 64)), /give budgets below 1/);
  assert.equal(kept("kv_quant", 64), "it has no budget");
});

Deno.test("what a sweep sets leaves each budget as it is: streaming's window is its budget", () => {
  const plan = SweepPlan.parse({
    methods: ["snapkv", "streaming"],
    budgets: [64, 128],
    set: { window: 16, sinks: 8 },
  });
  const cells = cellsOf(plan, entries, facts);
  const said = cells.map(([action]) => {
    const { budget, window, sinks } = resolveActions([action!], entries, facts)[0]!.params;
    return [action!.method, budget, window, sinks];
  });
  assert.deepEqual(said, [
    ["snapkv", 64, 16, 8],
    ["snapkv", 128, 16, 8],
    ["streaming", undefined, 56, 8],
    ["streaming", undefined, 120, 8],
  ]);
});

Deno.test("a press goes by its name and a ratio, and says why some are no trial", () => {
  assert.equal(reason("kvpress", { press: "TOVAPress", compression_ratio: 0.9 }), "");
  assert.match(reason("kvpress", { press: "KVzipPress" }), /^KVzipPress is no trial: it reads/);
  assert.match(reason("kvpress", { press_arguments: "{3}" }), /^its arguments are no JSON/);
  assert.throws(() => reason("kvpress", { press: "TovaPress" }), /TOVAPress/);
  assert.equal(reason("kvpress", { press: "theirs.presses:TheirPress" }), "");
  for (const odd of ["/tmp/theirs.py:TheirPress", "theirs:a()", "https://x/y:Press"]) {
    assert.throws(() => reason("kvpress", { press: odd }), /press/, odd);
  }
  const bare = checkStrategy(
    resolveActions([{ agent: "kv_cache", method: "kvpress", params: {} }], entries, facts),
    entries,
    smallFacts(),
  );
  assert.match(bare.ok ? "" : bare.reason, /pare setup kvpress$/);
  const knobs = params("kvpress", { press: "SnapKVPress", press_arguments: '{"window_size":8}' });
  assert.deepEqual(kvpress.label!(knobs), ["SnapKVPress", "50%", '{"window_size":8}']);
  assert.equal(kvpress.next(knobs, "kept", facts)!["press_ratio"], 0.75);
  assert.equal(kvpress.next(knobs, "lost", facts), null, "nothing would be let go of");
});

Deno.test("what a sweep could run on no model is refused before one is read", async () => {
  const registry = await discoverPlugins();
  const check = (more: object) =>
    checkRequest(
      StudyRequest.parse({ model_name: "none", dataset: "demo", ...more }),
      { ...smallFacts().dataset, dataset: "demo" },
      registry,
      undefined,
    );
  const refused = (sweep: object, words: RegExp) =>
    assert.throws(() => check({ sweep: { methods: ["snapkv"], budgets: [32], ...sweep } }), words);
  refused(
    { set: { window: 32 } },
    /^UsageError: Cannot sweep snapkv with a budget of 32 tokens as sinks and window hold 32 tokens/,
  );
  refused({ methods: ["knorm", "pyramidkv"], set: { kernel: 4 } }, /kernel of 4 tokens is even/);
  refused(
    { budgets: [64, 1] },
    /^UsageError: Cannot use snapkv with budget = 1 as budget is a whole/,
  );
  refused({ methods: ["streaming"], budgets: [1] }, /Cannot use streaming with window = 1/);
  refused({ methods: ["gptq"] }, /Unknown method of the cache "gptq"/);
  refused({ set: { windw: 3 } }, /Unknown knob of these methods "windw". Did you mean "window"/);
  check({ sweep: { methods: ["h2o"], budgets: [32], set: { window: 32 } } });
  check({ sweep: { methods: ["snapkv"], budgets: [0.1, 16, 512] } });
  const own = (params: object) => ({
    strategies: [{ actions: [{ agent: "kv_cache", method: "snapkv", params }] }],
  });
  assert.throws(
    () => check(own({ kernel: 4 })),
    /Cannot use snapkv as a kernel of 4 tokens is even/,
  );
  check(own({ budget: 16, window: "auto" }));
});

Deno.test("a budget or a context that a model's config leaves no room for is refused before its weights are read", async () => {
  const registry = await discoverPlugins();
  const folder = await Deno.makeTempDir();
  const config = { model_type: "gpt2", n_embd: 8, n_layer: 2, n_positions: 1024, vocab_size: 9 };
  await Deno.writeTextFile(`${folder}/config.json`, JSON.stringify(config));
  const check = async (more: object, model_name = folder) => {
    const request = StudyRequest.parse({ model_name, dataset: "demo", ...more });
    const dataset = { ...smallFacts().dataset, dataset: "demo" };
    checkRequest(request, dataset, registry, await modelReads(request));
  };
  const sweep = (methods: string[], budgets: number[], set = {}) => ({
    sweep: { methods, budgets, set },
  });
  const keeps = /a budget of 1024 tokens as the budget keeps 1024 tokens, all of the 1024 that/;
  for (const method of ["snapkv", "h2o", "knorm"]) {
    await assert.rejects(() => check(sweep([method], [64, 1024])), keeps);
    await check(sweep([method], [1023, 0.5]));
    await check(sweep([method], [1024]), "none");
  }
  await assert.rejects(
    () => check(sweep(["streaming"], [1024])),
    /sinks and window keep 1024 tokens/,
  );
  config.n_positions = 128;
  await Deno.writeTextFile(`${folder}/config.json`, JSON.stringify(config));
  await assert.rejects(
    () => check(sweep(["snapkv"], [0.5], { window: 128 })),
    /a budget of 50 % as the budget keeps 128 tokens, all of the 128 that the model reads/,
  );
  await assert.rejects(
    () => check({ context_tokens: 256 }),
    /Cannot count memory at a context of 256 tokens: .* reads 128 tokens at most/,
  );
  await Deno.writeTextFile(`${folder}/config.json`, "{");
  await check(sweep(["snapkv"], [1024]));
  await Deno.remove(folder, { recursive: true });
});
