import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import {
  checkStrategy,
  type Facts,
  type Method,
  ModelFacts,
  resolveActions,
  type Support,
  totalBytes,
} from "../../core/mod.ts";
import channels, { keptChannels, keptGroups } from "../../plugins/pruning/channels.ts";
import depth from "../../plugins/pruning/depth.ts";
import rtn from "../../plugins/quantization/rtn.ts";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

/** What a cut decides of a model, its shapes in one order. */
function cutFacts(model: ModelFacts) {
  const { parameters, linear_parameters, group_sizes, intermediate_size, heads, kv_heads } = model;
  const { layers, block_parameters, expert_parameters, fp16_bytes } = model;
  const counts = { layers, block_parameters, expert_parameters, fp16_bytes };
  const shapes = model.linear_shapes.map(({ out_features, in_features, count, bias }) =>
    `${out_features}x${in_features} ${bias ?? false} ${count}`
  ).sort();
  const widths = { intermediate_size, heads, kv_heads };
  const matrices = model.block_matrices?.map((one) => JSON.stringify(one)).sort();
  return { parameters, linear_parameters, group_sizes, ...widths, ...counts, shapes, matrices };
}

Deno.test("keptChannels() and keptGroups() round to the nearest, of two as near to the wider", () => {
  assert.equal(keptChannels(1536, 0.25, 32), 1152);
  assert.equal(keptChannels(1536, 0.01, 64), 1536);
  assert.equal(keptChannels(48, 0.5, 16), 32); // 24 lies between 16 and 32
  assert.equal(keptChannels(64, 0.5, 64), 64); // one step is left at least
  assert.equal(keptGroups(3, 0.5), 2);
  assert.equal(keptGroups(4, 0.25), 3);
  assert.equal(keptGroups(1, 0.5), 1);
});

/** Cuts of random models, each of which the formulas must foretell to the parameter and the byte. */
const CUTS = [
  ...["llama", "qwen2", "qwen3", "gemma3", "phi3"].flatMap((architecture) => [
    { architecture, method: "channels", params: { mlp_ratio: 0.25, round_to: 8 } },
    {
      architecture,
      method: "channels",
      params: { mlp_ratio: 0.5, attention_ratio: 0.5, round_to: 16 },
    },
  ]),
  {
    architecture: "qwen2",
    method: "channels",
    params: { mlp_ratio: 0, attention_ratio: 0.5, attention_unit: "query_heads" },
  },
  ...["falcon", "gpt2", "gpt_neox", "gptj", "opt"].map((architecture) => ({
    architecture,
    method: "channels",
    params: { mlp_ratio: 0.25, round_to: 8 },
  })),
  ...["llama", "qwen2", "phi3", "gpt2", "gpt_neox", "opt", "bloom", "mixtral", "qwen2_moe"].map((
    architecture,
  ) => ({ architecture, method: "depth", params: { blocks: 1 } })),
];

/** The defaults of a method's knobs, and these. */
function paramsOf(method: Method, params: Record<string, unknown>) {
  const usual = Object.entries(method.knobs).map(([name, knob]) => [name, knob.default]);
  return { ...Object.fromEntries(usual), ...params, samples: 8 };
}

const asked = CUTS.map(({ architecture, method, params }) => {
  const own = method === "depth" ? depth : channels;
  return { architecture, method, own, params: paramsOf(own, params) };
});
let found: Promise<Record<string, unknown>[]> | undefined;

/** What a process of Python's says of every cut: the facts before and after it. */
function made(): Promise<Record<string, unknown>[]> {
  found ??= (async () => {
    const folder = fileURLToPath(new URL("../python-backends/", import.meta.url));
    const { python } = await ensureEnvironment("default");
    const cuts = asked.map(({ own: _own, ...cut }) => cut);
    const { stdout } = await execa(python, ["print_cuts.py", JSON.stringify(cuts)], {
      cwd: folder,
      env: { HF_HUB_OFFLINE: "1", PYTHONPATH: [PYTHON_ROOT, folder].join(":") },
    });
    return stdout.split("\n").map((line) => JSON.parse(line));
  })();
  return found;
}

/** The facts of an architecture that was cut. */
async function factsOf(architecture: string): Promise<Facts> {
  const place = asked.findIndex((one) => one.architecture === architecture);
  return { ...smallFacts(), model: ModelFacts.parse((await made())[place]!["before"]) };
}

Deno.test("what a cut leaves is what its files hold, of every architecture, to the byte", async () => {
  for (const [place, { architecture, own, params }] of asked.entries()) {
    const { model, formula_bytes } = (await made())[place]!;
    const facts = await factsOf(architecture);
    const named = `${architecture} ${JSON.stringify(params)}`;
    const verdict = own.supports(facts);
    assert.ok(verdict.ok, `${named}: ${verdict.reason}`);
    assert.deepEqual(own.accepts(params, facts), { ok: true }, named);
    const left = own.leaves(params, facts).model;
    assert.deepEqual(cutFacts(left), cutFacts({ ...facts.model, ...(model as ModelFacts) }), named);
    assert.equal(totalBytes(left), formula_bytes, named);
    assert.ok(left.parameters < facts.model.parameters);
  }
});

Deno.test("what cannot be cut is refused in words before any work", async () => {
  const [moe, bloom, gpt2, llama] = await Promise.all(
    ["mixtral", "bloom", "gpt2", "llama"].map(factsOf),
  );
  const why = (verdict: Support) => verdict.ok ? "" : verdict.reason;
  assert.match(why(channels.supports(moe!)), /the MLPs of MixtralForCausalLM are a mixture's/);
  assert.match(why(channels.supports(bloom!)), /names no width of the MLP/);
  const cut = (params: Record<string, unknown>) => paramsOf(channels, params);
  assert.match(why(channels.accepts(cut({ attention_ratio: 0.5 }), gpt2!)), /heads .* cannot go/);
  assert.match(
    why(channels.accepts(cut({ mlp_ratio: 0.01 }), llama!)),
    /128 MLP channels, 2 KV heads and 4 query heads are left as they are/,
  );
  assert.match(
    why(channels.accepts(cut({ importance: "weight", rounds: 2 }), llama!)),
    /the same in each of 2 rounds/,
  );
  const drop = (params: Record<string, unknown>) =>
    why(depth.accepts(paramsOf(depth, params), llama!));
  assert.match(drop({ blocks: 2 }), /2 of 2 blocks cannot go: at most 1 can/);
  assert.match(drop({ keep_first: 1, keep_last: 1 }), /1 first and 1 last ones left alone.* 0 can/);
  assert.match(drop({ rounds: 2 }), /1 blocks cannot go in 2 rounds/);
  const one = { ...llama!, model: { ...llama!.model, layers: 1 } };
  assert.match(why(depth.supports(one)), /has 1 block, and one must be left/);
  const unlike = { ...llama!, model: { ...llama!.model, block_parameters: null } };
  assert.match(why(depth.supports(unlike)), /not built of one row of decoder blocks/);
  const entries = [{ agent: "pruning", method: channels }, {
    agent: "quantization",
    method: rtn,
  }];
  const narrow = { mlp_ratio: 0.25, round_to: 8 };
  const recipe = resolveActions(
    [
      { agent: "pruning", method: "channels", params: narrow },
      { agent: "quantization", method: "rtn", params: { bits: 4, group_size: 64 } },
    ],
    entries,
    llama!,
  );
  assert.match(
    why(checkStrategy(recipe, entries, llama!)),
    /does not divide the rows of \d+ weights; (16|32|48) divides all/,
  );
});

Deno.test("a model without attention has no channels and no heads to lose", () => {
  const facts = smallFacts();
  const alone = {
    ...facts,
    model: { ...facts.model, architecture: "MambaForCausalLM", heads: 0, kv_heads: 0, head_dim: 0 },
  };
  const found = channels.supports(alone);
  assert.match(found.ok ? "" : found.reason, /^MambaForCausalLM keeps a state in every block/);
});
