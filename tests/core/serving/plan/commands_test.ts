/** What each server's command says of memory, cache and model, bare and in a container. */
import assert from "node:assert/strict";
import { plan, type PlanRequest } from "../../../../core/serving/plan/plan.ts";
import type { Server } from "../../../../core/serving/plan/schema.ts";
import { configOf } from "./published.ts";

const QWEN = "Qwen/Qwen3-32B";

function planned(server: Server, more: Partial<PlanRequest> = {}) {
  const request = { model: QWEN, config: configOf(QWEN), gpus: "2xH100-80", servers: [server] };
  const layout = plan({ ...request, ...more }).plans.at(-1)!;
  const { command, container } = layout.servers[server]!;
  return { ...layout, bare: command.args, contained: container.args };
}

const after = (args: readonly string[], flag: string) => args[args.indexOf(flag) + 1];
/** All that follows `-v` in a command of docker. */
const mounts = (args: readonly string[]) =>
  args.filter((_, index) => index > 0 && args[index - 1] === "-v");

Deno.test("vLLM's image starts `vllm serve` by itself: the model follows it", () => {
  const { contained } = planned("vllm", { model: "/models/mine", local: true });
  const image = contained.findIndex((word) => word.startsWith("vllm/vllm-openai:"));
  assert.equal(contained[image + 1], "/model");
  assert.deepEqual(mounts(contained), ["/models/mine:/model:ro"]);
});

Deno.test("a container sees the hub's folder, and its files where they lie elsewhere", () => {
  const { contained } = planned("vllm", { hub_cache: "/home/me/hf" });
  assert.deepEqual(mounts(contained), ["/home/me/hf:/hub"]);
  const apart = planned("vllm", { hub_cache: "/home/me/hf", hub_files: "/data/files" }).contained;
  assert.deepEqual(mounts(apart), ["/home/me/hf:/hub", "/data/files:/hub/hub"]);
  assert.ok(apart.includes("HF_HOME=/hub"));
  for (const server of ["llama.cpp", "openvino"] as const) {
    const [only, ...others] = mounts(planned(server).contained);
    assert.match(only!, /^\.\/models:/, `${server} reads no file of the hub's`);
    assert.deepEqual(others, []);
  }
});

Deno.test("OpenVINO's server takes a folder as it is, and fetches a name", () => {
  const folder = planned("openvino", { model: "/models/mine", local: true });
  assert.equal(after(folder.bare, "--model_path"), "/models/mine");
  assert.equal(after(folder.contained, "--model_path"), "/model");
  assert.equal(after(folder.contained, "--model_name"), "mine");
  assert.equal(folder.bare.includes("--source_model"), false);
  const { contained } = planned("openvino");
  assert.equal(after(contained, "--source_model"), QWEN);
  assert.equal(after(contained, "--model_repository_path"), "/models");
});

Deno.test("SGLang and TensorRT-LLM are asked for what the plan leaves for weights and cache", () => {
  const { bare, memory } = planned("sglang");
  const share = Number(after(bare, "--mem-fraction-static"));
  const left = memory.total * share - memory.weights;
  assert.ok(left <= memory.cache && left > memory.cache - .02 * memory.total, `${share}`);
  const free = Number(
    after(planned("tensorrt_llm").bare, "--kv_cache_free_gpu_memory_fraction"),
  );
  const cache = (memory.total - memory.weights) * free;
  assert.ok(Math.abs(cache / memory.cache - 1) < .02, `${free}`);
});

Deno.test("each server has its own name of a type of the cache", () => {
  const type = (server: Server, flag: string, cache_type: string) =>
    after(planned(server, { cache_type, gpus: "2xB200" }).bare, flag);
  assert.equal(type("tensorrt_llm", "--kv_cache_dtype", "fp8_e4m3"), "fp8");
  assert.equal(type("tensorrt_llm", "--kv_cache_dtype", "nvfp4"), "nvfp4");
  assert.equal(type("sglang", "--kv-cache-dtype", "fp8"), "fp8_e4m3");
  assert.equal(type("llama.cpp", "--cache-type-k", "fp8"), "q8_0");
});
