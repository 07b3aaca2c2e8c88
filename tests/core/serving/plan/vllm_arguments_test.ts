/** A plan's command line against the names that vLLM's own argument parser takes. */
import assert from "node:assert/strict";
import { CACHE_TYPES } from "../../../../core/serving/plan/memory/cache_types.ts";
import { FAMILIES } from "../../../../core/serving/plan/model/families.ts";
import { plan } from "../../../../core/serving/plan/plan.ts";
import { CONFIG_NAMES, configOf } from "./published.ts";

const VLLM: Readonly<Record<"flags" | "parsers" | "methods" | "cache_types", readonly string[]>> =
  JSON
    .parse(Deno.readTextFileSync(new URL("vllm_arguments.json", import.meta.url)));

const KNOWN = [
  ["--tool-call-parser", VLLM.parsers],
  ["--quantization", VLLM.methods],
  ["--kv-cache-dtype", VLLM.cache_types],
] as const;

Deno.test("every flag, parser and method that a plan writes is one of vLLM 0.32's", () => {
  const cards = [["8xA100-80", "auto"], ["8xB300", "fp8"]] as const;
  const asked = CONFIG_NAMES.flatMap((model) =>
    cards.map(([gpus, cache_type]) => ({
      model,
      config: configOf(model),
      gpus,
      cache_type,
      sequences: 2,
    }))
  );
  const lines = asked.flatMap((one) =>
    plan({ ...one, servers: ["vllm"] }).plans.map(({ servers }) => servers.vllm?.command.args ?? [])
  );
  for (const args of lines) {
    for (const word of args.filter((one) => one.startsWith("--"))) {
      assert.ok(VLLM.flags.includes(word), `${args[1]}: ${word}`);
    }
    for (const [flag, known] of KNOWN) {
      const value = args[args.indexOf(flag) + 1]!;
      if (args.includes(flag)) assert.ok(known.includes(value), `${args[1]}: ${value}`);
    }
  }
  assert.ok(lines.flat().length > 1000, `${lines.flat().length} words`);
});

Deno.test("every family's parser and every type of the cache is one of vLLM 0.32's", () => {
  for (const [family, { parser }] of Object.entries(FAMILIES)) {
    if (parser !== undefined) assert.ok(VLLM.parsers.includes(parser), `${family}: ${parser}`);
  }
  for (const type of CACHE_TYPES) assert.ok(VLLM.cache_types.includes(type), type);
});
