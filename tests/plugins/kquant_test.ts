import assert from "node:assert/strict";
import { BlockMatrix, checkMethod, type Facts, totalBytes } from "../../core/mod.ts";
import { matrixBytes } from "../../plugins/forms/ggml.ts";
import kquant from "../../plugins/quantization/kquant.ts";
import {
  embeddingKind,
  headKind,
  linearKinds,
  MIX_NAMES,
  type MixName,
  needsImportance,
} from "../../plugins/forms/_ggml_mixes.ts";
import llama from "../../plugins/runtimes/llama.cpp.ts";
import openvino from "../../plugins/runtimes/openvino.ts";
import { smallFacts } from "../core/spec_fixtures.ts";
import golden from "./ggml_mixes.json" with { type: "json" };

type Name = keyof typeof golden.models;
type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** What llama-cpp-python 0.3.36 wrote of random Llamas, by role: how many matrices are of which kind. */
const WRITTEN = golden.written.map((line) => {
  const [head = "", roles = ""] = line.split(": ");
  const [model, mix, weighted] = head.split(" ");
  const kinds: Counts = Object.fromEntries(
    roles.split(", ").map((one) => {
      const [role = "", ...counts] = one.split(/ |\+/);
      const pairs = counts.flatMap((count, at) =>
        at % 2 === 0 ? [[counts[at + 1]!, Number(count)] as const] : []
      );
      return [role, Object.fromEntries(pairs)];
    }),
  );
  return { model: model as Name, mix: mix as MixName, importance: weighted === "weighted", kinds };
});

interface GoldenModel {
  readonly architecture?: string;
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly heads: number;
  readonly kv_heads: number;
  readonly tied_embeddings: boolean;
  readonly layers: number;
  readonly vocabulary: number;
  /** Of a mixture: how many experts a block has, how wide they are, and one that all tokens take. */
  readonly experts?: { readonly count: number; readonly wide: number; readonly shared?: number };
  /** Of blocks that differ, or are called otherwise. */
  readonly matrices?: readonly unknown[];
}

/** Names in a block of architectures that call their matrices otherwise than Llama. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  GPTNeoXForCausalLM: ["query_key_value", "attention.dense", "dense_h_to_4h", "dense_4h_to_h"],
  Phi3ForCausalLM: ["self_attn.o_proj", "qkv_proj", "mlp.gate_up_proj", "mlp.down_proj"],
  GlmForCausalLM: ["q_proj", "k_proj", "v_proj", "o_proj", "mlp.gate_up_proj", "mlp.down_proj"],
  Starcoder2ForCausalLM: ["q_proj", "k_proj", "v_proj", "o_proj", "mlp.c_fc", "mlp.c_proj"],
  MixtralForCausalLM: ["q_proj", "k_proj", "v_proj", "o_proj", ...expertNames("experts")],
};
const USUAL = ["q_proj", "k_proj", "v_proj", "o_proj"];

function expertNames(prefix: string): string[] {
  return ["gate_proj", "up_proj", "down_proj"].map((name) => `mlp.${prefix}.${name}`);
}

/** The matrices of a golden model's blocks, which are alike. */
function matricesOf({ architecture = "", experts, ...model }: GoldenModel): BlockMatrix[] {
  const { hidden_size: hidden, intermediate_size: wide, heads, kv_heads, layers } = model;
  const keys = kv_heads * hidden / heads;
  const width = (name: string) => {
    if (name.includes("shared")) return experts!.shared!;
    return name.includes("expert") ? experts!.wide : wide;
  };
  const out = (name: string) => {
    if (/qkv_proj|query_key_value/.test(name)) return hidden + 2 * keys;
    if (/[kv]_proj$/.test(name)) return keys;
    if (/gate_up/.test(name)) return 2 * wide;
    return /gate|up_proj|c_fc|h_to_4h/.test(name) ? width(name) : hidden;
  };
  const mixed = experts === undefined ? expertNames("own") : expertNames("experts");
  const shared = experts?.shared === undefined ? [] : expertNames("shared_expert");
  return (NAMES[architecture] ?? [...USUAL, ...mixed, ...shared]).map((name) => ({
    name,
    out_features: out(name),
    in_features: /down|c_proj|4h_to_h/.test(name) ? width(name) : hidden,
    blocks: [[0, layers - 1]],
    ...(name.includes(".experts.") ? { experts: experts!.count } : {}),
  }));
}

function factsOf(name: Name): Facts {
  const golden_model: GoldenModel = golden.models[name];
  const { experts: _, matrices, architecture = "LlamaForCausalLM", ...given } = golden_model;
  const own = matrices?.map((one) => BlockMatrix.parse(one));
  return withMatrices({ ...given, architecture }, own ?? matricesOf(golden_model));
}

/** Facts of a model whose blocks have these matrices. */
function withMatrices(
  given: Omit<GoldenModel, "experts"> & { readonly architecture: string },
  block_matrices: BlockMatrix[],
): Facts {
  const facts = smallFacts();
  const { vocabulary, hidden_size } = given;
  const linear_shapes = block_matrices.map(({ out_features, in_features, blocks, experts = 1 }) => {
    const count = blocks.reduce((sum, [first, last]) => sum + experts * (last + 1 - first), 0);
    return { out_features, in_features, count };
  });
  const linear_parameters = linear_shapes.reduce(
    (sum, { out_features, in_features, count }) => sum + out_features * in_features * count,
    0,
  );
  const embedding_parameters = hidden_size * vocabulary * (given.tied_embeddings ? 1 : 2);
  const head_dim = hidden_size / given.heads;
  return {
    ...facts,
    tools: ["llama_cpp"],
    model: {
      ...{ ...facts.model, ...given, head_dim, block_matrices, linear_shapes, linear_parameters },
      ...{ embedding_parameters, grid: null },
      parameters: linear_parameters + embedding_parameters,
    },
  };
}

const params = {
  ...{ block_mix: "Q4_K_M", embedding_blocks: "mix", head_blocks: "mix", assignment: "none" },
  ...{ kinds_by: "mix", eight_bit_share: 0, rounded_by: "library" },
  ...{ importance: true, samples: 16 },
};

Deno.test("every mix gives each matrix the kind that llama.cpp's quantizer gives it", () => {
  assert.equal(new Set(WRITTEN.map(({ mix }) => mix)).size, MIX_NAMES.length);
  for (const { model, mix, importance, kinds } of WRITTEN) {
    const facts = factsOf(model);
    const found: Record<string, Record<string, number>> = {};
    const count = (role: string, kind: string) => {
      const own = found[role] ??= {};
      own[kind] = (own[kind] ?? 0) + 1;
    };
    for (const { role, kind } of linearKinds(mix, importance, facts)) count(role, kind);
    if (facts.model.tied_embeddings) count("embedding", headKind(mix, facts));
    else {
      count("embedding", embeddingKind(mix, facts));
      count("head", headKind(mix, facts));
    }
    assert.deepEqual(found, kinds, `${model} ${mix} ${importance}`);
  }
});

Deno.test("what llama.cpp refuses to make without an importance matrix is refused before any work", () => {
  for (const model of Object.keys(golden.models) as Name[]) {
    for (const mix of MIX_NAMES) {
      if (!WRITTEN.some((one) => one.model === model && one.mix === mix)) continue; // not tried
      const made = WRITTEN.some((one) => one.model === model && one.mix === mix && !one.importance);
      const kinds = linearKinds(mix, false, factsOf(model));
      assert.equal(needsImportance(mix, kinds), !made, `${model} ${mix}`);
      const accepted = kquant.accepts(
        { ...params, block_mix: mix, importance: false },
        factsOf(model),
      );
      assert.equal(accepted.ok, made);
    }
  }
});

Deno.test("bytes are those of the blocks and of what each matrix has once", () => {
  const facts = factsOf("c");
  const { model } = kquant.leaves(params, facts);
  const own = (kind: Parameters<typeof matrixBytes>[0], weights: number, count: number) =>
    count * matrixBytes(kind, weights);
  const linear = own("Q5_0", 96 * 96, 48) + own("Q5_0", 32 * 96, 24) + own("Q5_0", 32 * 96, 12) +
    own("Q8_0", 32 * 96, 12) + own("Q5_0", 256 * 96, 48) + own("Q6_K", 256 * 96, 12) +
    own("Q4_K", 256 * 96, 12);
  assert.equal(model.weight_bytes?.linear, linear);
  assert.equal(model.weight_bytes?.embedding, own("Q8_0", 96 * 320, 1));
  const floats = kquant.leaves({ ...params, embedding_blocks: "floats" }, facts);
  assert.deepEqual(floats.changes.map(({ part }) => part), ["linear"]);
  assert.equal(floats.model.weight_bytes?.embedding, 2 * 96 * 320);
  assert.ok(totalBytes(floats.model) > totalBytes(model));
});

Deno.test("kinds that do not divide the embedding's rows are refused, odd models too", () => {
  const refused = kquant.accepts({ ...params, embedding_blocks: "Q6_K" }, factsOf("c"));
  assert.match(refused.ok ? "" : refused.reason, /96 weights.*blocks of Q6_K: take Q8_0/);
  assert.equal(kquant.accepts({ ...params, embedding_blocks: "Q6_K" }, factsOf("a")).ok, true);
  const facts = factsOf("a");
  const uneven = { ...facts, model: { ...facts.model, linear_parameters: 7 } };
  assert.match(JSON.stringify(kquant.supports(uneven)), /not on record: import it anew/);
  const other = { ...facts, model: { ...facts.model, architecture: "OPTForCausalLM" } };
  assert.match(JSON.stringify(kquant.supports(other)), /the model is OPTForCausalLM/);
});

Deno.test("it is offered where its program's environment is made", () => {
  const { tools: _tools, ...without } = factsOf("a");
  const refused = checkMethod(kquant, without);
  assert.match(refused.ok ? "" : refused.reason, /environment llama_cpp.*pare setup llama_cpp/);
  assert.deepEqual(checkMethod(kquant, factsOf("a")), { ok: true });
});

Deno.test("llama.cpp runs its blocks as stored, others their floats", () => {
  const facts = factsOf("a");
  const [linear] = kquant.leaves(params, facts).changes;
  assert.ok(llama.holds(linear!, facts).ok && openvino.holds(linear!, facts).ok);
  assert.equal(llama.skips?.(linear!), true);
  const part = { form: linear!.form, weights: 1e6, stored_bytes: 0 };
  assert.ok(llama.reads!(part) < 0.7e6 && openvino.reads!(part) >= 2e6);
});

Deno.test("the next try has the same bytes spent anew, then the next smaller or larger mix", () => {
  const facts = factsOf("a");
  const rounded = kquant.next(params, "lost", facts)!;
  assert.deepEqual(rounded, { ...params, rounded_by: "gptq" });
  const anew = kquant.next(rounded, "lost", facts)!;
  assert.deepEqual(anew, { ...rounded, kinds_by: "fisher" });
  // Nearly all weights of these share a code.
  const shared = kquant.next({ ...params, block_mix: "IQ3_XS" }, "lost", facts)!;
  assert.deepEqual(shared, { ...params, block_mix: "IQ3_XS", kinds_by: "fisher" });
  assert.equal(kquant.next(anew, "lost", facts)?.block_mix, "Q5_K_S");
  const smaller = kquant.next(params, "kept", facts)!;
  const bytes = (one: typeof params) => kquant.leaves(one, facts).model.weight_bytes!.linear;
  assert.ok(bytes(smaller as typeof params) < bytes(params));
  assert.equal(kquant.next({ ...params, block_mix: "Q8_0" }, "lost", facts), null);
});

Deno.test("a share of the weights in 8 bits takes its bytes, and chooses kinds alone", () => {
  const facts = factsOf("a");
  const bytes = (more: object) =>
    kquant.leaves({ ...params, block_mix: "IQ4_NL", ...more }, facts).model.weight_bytes!.linear;
  const all = kquant.leaves({ ...params, block_mix: "Q8_0" }, facts).model.weight_bytes!.linear;
  const none = bytes({});
  assert.ok(Math.abs(bytes({ eight_bit_share: 0.25 }) - (none + 0.25 * (all - none))) <= 1);
  const refused = (more: object) => {
    const found = kquant.accepts({ ...params, eight_bit_share: 0.1, ...more }, facts);
    return found.ok ? null : found.reason;
  };
  assert.equal(refused({}), null);
  assert.match(refused({ kinds_by: "fisher" })!, /Fisher information: leave out kinds_by/);
  assert.match(refused({ assignment: "Q4_K=0-167" })!, /leave out assignment/);
  const lost = kquant.next({ ...params, rounded_by: "gptq", eight_bit_share: 0.1 }, "lost", facts)!;
  assert.equal(lost.kinds_by, "mix");
});

Deno.test("a head of 4 bits is tried where GPTQ rounds it, and given up where it lost", () => {
  const own = factsOf("a");
  const embedding_parameters = own.model.linear_parameters / 2; // as of a small model, and shared
  const facts = {
    ...own,
    model: { ...own.model, embedding_parameters, tied_embeddings: true },
  };
  const rounded = { ...params, rounded_by: "gptq" };
  const smaller = kquant.next(rounded, "kept", facts)!;
  assert.deepEqual(smaller, { ...rounded, embedding_blocks: "IQ4_NL" });
  const back = kquant.next(smaller, "lost", facts)!;
  assert.deepEqual(back, rounded);
  assert.notEqual(kquant.next(smaller, "kept", facts)!.block_mix, "Q4_K_M");
  assert.equal(kquant.next(params, "kept", facts)!.embedding_blocks, "mix"); // by the library: no
  const large = { ...facts, model: { ...facts.model, embedding_parameters: 96 * 320 } };
  assert.equal(kquant.next(rounded, "kept", large)!.embedding_blocks, "mix"); // little to save
  const untied = {
    ...facts,
    model: {
      ...facts.model,
      tied_embeddings: false,
      embedding_parameters: 4 * embedding_parameters,
    },
  };
  assert.equal(kquant.next(rounded, "kept", untied)!.head_blocks, "IQ4_NL");
});

Deno.test("an assignment gives every layer its kind, by the model's order", () => {
  const facts = factsOf("a"); // 24 blocks of q, k, v, o, gate, up, down
  const assignment = "Q6_K=0,3-6 Q4_K=1-2,7-167";
  const bytes = kquant.leaves({ ...params, assignment }, facts).model.weight_bytes!.linear;
  const all = linearKinds("Q4_K_S", true, facts);
  const six = (at: number) => at === 0 || (at >= 3 && at <= 6);
  const order = ["q", "k", "v", "o", "gate", "up", "down"];
  const expected = Array.from({ length: 168 }, (_, at) => {
    const { weights } = all.find(({ role }) => role === order[at % 7])!;
    return matrixBytes(six(at) ? "Q6_K" : "Q4_K", weights);
  }).reduce((sum, one) => sum + one, 0);
  assert.equal(bytes, expected);
  const odd = ["Q6_K=,1-167", "Q6_K=-167", "Q6_K=0-167-9", "Q6_K=0-167,"]; // no numbers, as Python reads them
  for (const wrong of ["Q6_K=0-166", "Q6_K=0-168", "Q6_K=0-167 Q4_K=3", "Q9_K=0-167", ...odd]) {
    const refused = kquant.accepts({ ...params, assignment: wrong }, facts);
    assert.match(refused.ok ? "" : refused.reason, /layers 0-167/, wrong);
  }
  const weighted = kquant.accepts(
    { ...params, assignment: "IQ3_XXS=0-167", importance: false },
    facts,
  );
  assert.match(weighted.ok ? "" : weighted.reason, /this assignment with an importance matrix/);
});

Deno.test("the experts of a block are one tensor: no assignment gives each its kind", () => {
  const facts = factsOf("g");
  assert.deepEqual(kquant.supports(facts), { ok: true });
  const { model } = kquant.leaves({ ...params, block_mix: "Q8_0" }, facts);
  const [square, narrow] = [matrixBytes("Q8_0", 256 * 256), matrixBytes("Q8_0", 128 * 256)];
  assert.equal(model.weight_bytes?.linear, 9 * (26 * square + 2 * narrow));
  const refused = kquant.accepts({ ...params, assignment: "Q6_K=0-62" }, facts);
  assert.match(refused.ok ? "" : refused.reason, /experts share one: take kinds_by/);
});

Deno.test("blocks that differ: values are counted where there are some, other matrices by their block", () => {
  const facts = factsOf("m"); // attention in every second of ten blocks, the first is dense
  assert.deepEqual(kquant.supports(facts), { ok: true });
  const kinds = linearKinds("Q4_K_M", true, facts);
  const of = (role: string) => kinds.filter((one) => one.role === role).map(({ kind }) => kind);
  // Of five values those before 5/8 = 0, those from 4 on, and the third of three between.
  assert.deepEqual(of("v"), ["Q4_K", "Q4_K", "Q6_K", "Q4_K", "Q6_K"]);
  assert.deepEqual(of("other"), Array(10).fill("Q4_K"));
  const down = ["Q6_K", "Q4_K", "Q4_K", "Q6_K", "Q4_K", "Q4_K", "Q6_K", "Q4_K", "Q6_K", "Q6_K"];
  assert.deepEqual(of("down"), down);
});

Deno.test("a matrix that the quantizer leaves in floats is counted so, whatever is assigned", () => {
  const facts = factsOf("a");
  const row = { name: "model.per_layer_model_projection", out_features: 512, in_features: 256 };
  const beside = BlockMatrix.parse({ ...row, blocks: [[-1, -1]] });
  const block_matrices = [...facts.model.block_matrices!, beside];
  const linear_parameters = facts.model.linear_parameters + 512 * 256;
  const own = { ...facts, model: { ...facts.model, block_matrices, linear_parameters } };
  const bytes = (one: Facts) => kquant.leaves(params, one).model.weight_bytes!.linear;
  assert.equal(bytes(own) - bytes(facts), 2 * 512 * 256);
  assert.deepEqual(kquant.accepts(params, own), { ok: true });
});

Deno.test("a gate of what attention gives is no gate of an MLP, keys of an indexer are keys", () => {
  const facts = factsOf("a");
  const [gate, keys] = ["self_attn.gate_proj", "self_attn.indexer.wk"].map((name) => {
    const row = { name, out_features: 512, in_features: 256, blocks: [[0, 23]] };
    return BlockMatrix.parse(row);
  });
  const block_matrices = [...facts.model.block_matrices!, gate!, keys!];
  const own = { ...facts, model: { ...facts.model, block_matrices } };
  const kinds = linearKinds("IQ3_XS", true, own);
  const of = (role: string) => kinds.filter((one) => one.role === role).map(({ kind }) => kind);
  assert.deepEqual(of("other"), Array(24).fill("IQ3_S"));
  assert.deepEqual(of("k"), Array(48).fill("IQ3_XXS"));
  assert.deepEqual(of("gate").length, 24);
});

Deno.test("without experts the matrices of an MLP are counted where there are some", () => {
  const facts = factsOf("a"); // of 24 blocks the last four have an MLP
  const few = (name: string): [number, number][] => [[/^mlp/.test(name) ? 20 : 0, 23]];
  const block_matrices = facts.model.block_matrices!.map((one) => (
    { ...one, blocks: few(one.name) }
  ));
  const sparse = { ...facts, model: { ...facts.model, block_matrices } };
  const kinds = linearKinds("Q4_K_M", true, sparse).filter(({ role }) => role === "down");
  // As llama.cpp has them, by 24: the first eighth of these are the first three.
  assert.deepEqual(kinds.map(({ kind }) => kind), ["Q6_K", "Q6_K", "Q6_K", "Q4_K"]);
});

Deno.test("experts in one tensor are quantized there, and counted apart from linear layers", () => {
  const facts = factsOf("a"); // 24 blocks
  const row = { name: "moe.output_linear", out_features: 256, in_features: 512, experts: 4 };
  const stack = { ...row, blocks: [[0, 23] as [number, number]], stacked: true };
  const more = 24 * 4 * 256 * 512;
  const parameters = facts.model.parameters + more;
  const block_matrices = [...facts.model.block_matrices!, stack];
  const unpackable = "moe.output_linear.weight cannot be packed: its file holds all experts";
  const stacked = { ...facts, model: { ...facts.model, block_matrices, parameters, unpackable } };
  assert.deepEqual(kquant.supports(stacked), { ok: true });
  const [own, other] = [facts, stacked].map((one) => {
    return kquant.leaves({ ...params, block_mix: "Q8_0" }, one).model.weight_bytes!;
  });
  assert.equal(other!.linear, own!.linear);
  assert.equal(other!.rest - own!.rest, 24 * (matrixBytes("Q8_0", 4 * 256 * 512) + 8));
  const gone = {
    ...stacked,
    model: { ...stacked.model, block_matrices: facts.model.block_matrices! },
  };
  assert.match(JSON.stringify(kquant.supports(gone)), /cannot be packed/);
});

Deno.test("an old record names no matrices: its sizes are guessed, no new file is made", () => {
  const facts = factsOf("a");
  const { block_matrices: _, ...model } = facts.model;
  const old = { ...facts, model };
  assert.match(JSON.stringify(kquant.supports(old)), /not on record: import it anew/);
  const [guessed, known] = [old, facts].map((one) => totalBytes(kquant.leaves(params, one).model));
  assert.ok(Math.abs(guessed! / known! - 1) < 0.1);
});
