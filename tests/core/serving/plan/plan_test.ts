import assert from "node:assert/strict";
import { readCards } from "../../../../core/serving/plan/cards/read_cards.ts";
import { plan, type PlanRequest } from "../../../../core/serving/plan/plan.ts";
import {
  type Layout,
  type Server,
  SERVERS,
  ServingPlan,
} from "../../../../core/serving/plan/schema.ts";
import { configOf } from "./published.ts";

function planned(model: string, gpus: string, more: Partial<PlanRequest> = {}) {
  return plan({ model, config: configOf(model), gpus, ...more });
}

/** The words of a server's command in the plan with most cards. */
function words(found: ServingPlan, server: Server): readonly string[] {
  return found.plans.at(-1)!.servers[server]!.command.args;
}

const after = (args: readonly string[], flag: string) => args[args.indexOf(flag) + 1];

Deno.test("readCards() takes what people write, and says what is near", () => {
  assert.equal(readCards("8xH100-80").count, 8);
  for (const text of ["h100", "H100-80GB", "1 x h100_80", "NVIDIA H100"]) {
    assert.equal(readCards(text).card.name, "H100-80", text);
  }
  assert.equal(readCards("2×4090").card.name, "RTX4090");
  assert.throws(() => readCards("8xH10O-80"), /Did you mean "H100-80"/);
  assert.throws(() => readCards("0xH100"), /a count from 1/);
});

Deno.test("a plan is what its schema says, and the same each time", () => {
  const found = planned("Qwen/Qwen3-32B", "4xH100-80");
  assert.deepEqual(ServingPlan.parse(found), found);
  assert.deepEqual(planned("Qwen/Qwen3-32B", "4xH100-80"), found);
  assert.deepEqual(found.plans.map(({ cards }) => cards), [1, 2, 4]);
  assert.equal(found.fewest_cards, 1);
});

Deno.test("memory of a card adds up, with graphs and without", () => {
  const { memory } = planned("Qwen/Qwen3-32B", "2xH100-80").plans.at(-1)!;
  const { asked, weights, activations, graphs, outside, cache, cache_without_graphs } = memory;
  assert.ok(Math.abs(asked - weights - activations - graphs - outside - cache) < 2);
  assert.ok(Math.abs(cache_without_graphs - cache - graphs) < 2);
  assert.ok(graphs > 0 && activations > 0);
});

Deno.test("more sequences leave each a shorter context, and less cache another type a longer one", () => {
  const longest = (more: Partial<PlanRequest>) =>
    planned("meta-llama/Meta-Llama-3.1-70B", "4xA100-80", more).plans.at(-1)!.longest_context[0];
  assert.ok(longest({ sequences: 16 }) < longest({ sequences: 8 }));
  assert.ok(longest({ sequences: 16, cache_type: "fp8" }) > 1.9 * longest({ sequences: 16 }));
});

Deno.test("the longest context of N sequences holds N sequences, and no more", () => {
  const [context] =
    planned("Qwen/Qwen3-32B", "H100-80", { sequences: 4 }).plans[0]!.longest_context;
  const at = (tokens: number) =>
    planned("Qwen/Qwen3-32B", "H100-80", { sequences: 4, context: tokens }).plans[0]!;
  assert.equal(at(context).fits, true);
  assert.ok(at(context).sequences_at_context[0] >= 4);
  assert.equal(at(context + 16).fits, false);
});

Deno.test("blocks that share a scale are not cut: 1,536 in eight parts is refused for FP8 alone", () => {
  const eight = { tensor_parallel: 8 };
  const fp8 = planned("Qwen/Qwen3-235B-A22B-FP8", "8xH100-80", eight);
  assert.match(
    fp8.refused[0]!.why,
    /tensor parallel 8 cuts the 1536 outputs .* into parts of 192, no multiple of the 128/,
  );
  assert.equal(fp8.plans.length, 0);
  assert.equal(planned("Qwen/Qwen3-235B-A22B", "8xH100-80", eight).refused.length, 0);
  const whole = planned("Qwen/Qwen3-235B-A22B-FP8", "8xH100-80");
  assert.deepEqual(
    whole.plans.map((
      { tensor_parallel, pipeline_parallel },
    ) => [tensor_parallel, pipeline_parallel]),
    [[4, 1], [4, 2]],
  );
});

Deno.test("each server has its command, bare and in a container, with no secret and no shell", () => {
  const found = planned("Qwen/Qwen3-32B", "2xH100-80");
  for (const server of SERVERS) {
    const { command, container } = found.plans.at(-1)!.servers[server]!;
    assert.ok(command.args.includes("8000"), server);
    assert.equal(container.program, "docker");
    for (const word of [...command.args, ...container.args]) {
      assert.doesNotMatch(word, /[;&|`$]|hf_/, `${server}: ${word}`);
    }
    assert.equal(
      new Set(command.args.filter((word) => word.startsWith("--"))).size,
      command.args.filter((word) => word.startsWith("--")).length,
      `${server}: a flag stands twice`,
    );
  }
});

Deno.test("vLLM's command has the flags of the requirement", () => {
  const args = words(
    planned("deepseek-ai/DeepSeek-V3", "8xH200", {
      cache_type: "fp8_e4m3",
      context: 24_576,
      utilization: .95,
    }),
    "vllm",
  );
  assert.equal(args[0], "serve");
  assert.equal(after(args, "--tensor-parallel-size"), "8");
  assert.equal(after(args, "--max-model-len"), "24576");
  assert.equal(after(args, "--gpu-memory-utilization"), "0.95");
  assert.equal(after(args, "--quantization"), "fp8");
  assert.equal(after(args, "--kv-cache-dtype"), "fp8_e4m3");
  assert.equal(after(args, "--tool-call-parser"), "deepseek_v3");
  assert.ok(args.includes("--enable-auto-tool-choice"));
  assert.equal(args.includes("--trust-remote-code"), false, "its code is vLLM's own");
});

Deno.test("--trust-remote-code stands where the config runs with its own code alone", () => {
  const nas = planned("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "2xH100-80");
  assert.ok(words(nas, "vllm").includes("--trust-remote-code"));
  assert.ok(words(nas, "sglang").includes("--trust-remote-code"));
  assert.ok(words(nas, "tensorrt_llm").includes("--trust_remote_code"));
});

Deno.test("parsers of tool calls go by family and name; one that is not known is said", () => {
  const parser = (model: string, name = model) =>
    after(
      words(plan({ model: name, config: configOf(model), gpus: "8xB200" }), "vllm"),
      "--tool-call-parser",
    );
  assert.equal(parser("Qwen/Qwen3-32B"), "hermes");
  assert.equal(parser("Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-Coder-30B-A3B-Instruct"), "qwen3_coder");
  assert.equal(
    parser("meta-llama/Meta-Llama-3.1-70B", "meta-llama/Llama-3.1-70B-Instruct"),
    "llama3_json",
  );
  assert.equal(
    parser("mistralai/Mixtral-8x22B-v0.1", "mistralai/Mixtral-8x22B-Instruct-v0.1"),
    "mistral",
  );
  assert.equal(parser("openai/gpt-oss-120b"), "openai");
  assert.equal(parser("deepseek-ai/DeepSeek-V3.2"), "deepseek_v32");
  const unknown = planned("01-ai/Yi-1.5-34B-Chat", "2xH100-80");
  assert.equal(words(unknown, "vllm").includes("--tool-call-parser"), false);
  assert.match(
    unknown.plans[0]!.servers.vllm!.warnings.join("\n"),
    /No parser of tool calls is known/,
  );
});

Deno.test("a gated model, a family that is not known and a form that is not read are said", () => {
  assert.match(
    planned("meta-llama/Meta-Llama-3.1-8B", "H100").warnings.join(),
    /is gated: .* HF_TOKEN/,
  );
  const strange = { ...configOf("Qwen/Qwen3-8B"), model_type: "quokka" };
  assert.match(
    planned("Qwen/Qwen3-8B", "H100", { config: strange }).warnings.join(),
    /quokka is not known here/,
  );
  const odd = { ...configOf("Qwen/Qwen3-8B"), quantization_config: { quant_method: "quokka" } };
  assert.match(
    planned("Qwen/Qwen3-8B", "H100", { config: odd }).warnings.join(),
    /\(quokka\) is not understood/,
  );
});

Deno.test("what cannot be read is refused in a sentence", () => {
  const refuse = (config: unknown, why: RegExp) =>
    assert.throws(() => plan({ model: "x/y", config, gpus: "H100" }), why);
  refuse(null, /is no JSON object/);
  refuse({ model_type: "llama" }, /has no hidden_size and no num_hidden_layers and no vocab_size/);
  refuse({ ...configOf("Qwen/Qwen3-8B"), hidden_size: "wide" }, /hidden_size of its config.json/);
  refuse(
    { ...configOf("Qwen/Qwen3-8B"), model_type: "deepseek_v4" },
    /compress the cache by different ratios/,
  );
  const ask = (more: Partial<PlanRequest>, why: RegExp) =>
    assert.throws(() => planned("Qwen/Qwen3-8B", "H100", more), why);
  ask({ utilization: 1.2 }, /above 0 and at most 1/);
  ask({ context: 0 }, /whole number above 0/);
  ask({ cache_type: "fp7" }, /Unknown type of the cache "fp7"/);
});

Deno.test("bytes of files stand in for the formulas' sum", () => {
  const sums = planned("Qwen/Qwen3-8B", "H100");
  const files = planned("Qwen/Qwen3-8B", "H100", { stored_bytes: sums.weights.bytes / 2 });
  assert.equal(files.weights.source, "files");
  assert.ok(Math.abs(files.weights.bytes * 2 - sums.weights.bytes) < 4);
  assert.ok(files.plans[0]!.memory.cache > sums.plans[0]!.memory.cache);
});

Deno.test("speed is the roofline's: twice the bytes are slower, a batch is faster together, the error is said", () => {
  const speed = (model: string, gpus: string): NonNullable<Layout["speed"]> =>
    planned(model, gpus).plans.at(-1)!.speed!;
  const one = speed("meta-llama/Meta-Llama-3.1-8B", "H100-80");
  const slow = speed("meta-llama/Meta-Llama-3.1-8B", "L4");
  assert.ok(one.decode_tokens_per_second > 5 * slow.decode_tokens_per_second);
  assert.ok(one.batch_tokens_per_second > one.decode_tokens_per_second);
  // 16 GB at 3.35 TB/s: no server is above 210 tokens a second.
  const roofline = one.decode_tokens_per_second / one.factor;
  assert.ok(roofline < 210 && roofline > 90, `${roofline}`);
  assert.equal(one.error, .6);
  const steps = [1, 8].map((sequences) => ({
    sequences,
    kept_tokens: 1000,
    output_tokens_per_second: 60 * sequences,
  }));
  const measured = { steps, source: "2 steps of a load" };
  const corrected = planned("meta-llama/Meta-Llama-3.1-8B", "H100-80", { measured }).plans[0]!
    .speed!;
  assert.ok(corrected.factor > .3 && corrected.factor < .6, `${corrected.factor}`);
  const changed = corrected.decode_tokens_per_second / one.decode_tokens_per_second;
  assert.ok(Math.abs(changed * one.factor / corrected.factor - 1) < 1e-9);
  assert.ok(corrected.error >= .1 && corrected.error < .4);
  assert.equal(corrected.source, "2 steps of a load");
  const elsewhere = planned("meta-llama/Meta-Llama-3.1-70B", "H100-80", { measured }).plans.at(-1)!;
  assert.equal(elsewhere.speed, null, "a plan that does not fit has no speed");
});
