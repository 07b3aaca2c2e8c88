/** Each row of the table of cards that the requirement has, and what is true of it. */
import assert from "node:assert/strict";
import { plan, type PlanRequest } from "../../../../core/serving/plan/plan.ts";
import { configOf } from "./published.ts";

const V3 = "deepseek-ai/DeepSeek-V3";
const Q235 = "Qwen/Qwen3-235B-A22B";
const Q32 = "Qwen/Qwen3-32B";
const Q14 = "Qwen/Qwen3-14B";

function planned(model: string, gpus: string, more: Partial<PlanRequest> = {}) {
  return plan({ model, config: configOf(model), gpus, ...more });
}

/** The same in 16 bits: its quantization taken out. */
function unquantized(model: string): Record<string, unknown> {
  const { quantization_config: _, ...config } = configOf(model);
  return config;
}

const fits = (found: ReturnType<typeof plan>, cards: number) =>
  found.plans.some((one) => one.fits && one.cards === cards);
const said = (found: ReturnType<typeof plan>) =>
  [...found.corrections, ...found.refused.map(({ why }) => why), ...found.warnings].join("\n");

Deno.test("a card of 480 GB is none: a GH200's are its CPU's, and neither 671B nor 235B fits one", () => {
  for (const [model, config] of [[V3, unquantized(V3)], [Q235, configOf(Q235)]] as const) {
    const found = planned(model, "GH200-480", { config });
    assert.equal(found.cards.name, "GH200-96");
    assert.match(said(found), /480 GB are memory of its CPU/);
    assert.equal(fits(found, 1), false);
    assert.match(said(found), /1 × GH200-96 do not hold it: .* it takes \d+/);
  }
});

Deno.test("671B in BF16 do not fit three B200, which no tensors can be cut over either", () => {
  const found = planned(V3, "3xB200-192", { config: unquantized(V3) });
  assert.ok(found.weights.bytes > 1.34e12);
  assert.equal(fits(found, 3), false);
  assert.match(
    said(found),
    /tensor parallel 3 does not divide the 128 attention heads \(1, 2, 4, 8/,
  );
  assert.equal(found.fewest_cards, 8);
});

Deno.test("tensor parallel 3 is refused with the divisors, for every model of the table", () => {
  for (const model of [V3, Q235, Q32]) {
    const { refused } = planned(model, "3xH200", { tensor_parallel: 3 });
    assert.match(
      refused[0]!.why,
      /tensor parallel 3 does not divide the \d+ attention heads \(.* do\)/,
    );
    assert.equal(refused[0]!.tensor_parallel, 3);
  }
  assert.match(
    planned(Q235, "3xH100-80").refused.map(({ why }) => why).join("\n"),
    /4 KV heads \(1, 2, 4 do, or any multiple of 4, each head copied\)/,
  );
});

Deno.test("Qwen3-235B in BF16 fits neither two nor three H100 nor one B200: eight do", () => {
  for (const gpus of ["2xH100-80", "3xH100-80", "B200-192"]) {
    const found = planned(Q235, gpus);
    assert.equal(fits(found, found.cards.count), false, gpus);
    assert.match(said(found), /do not hold it/);
  }
  const eight = planned(Q235, "8xH100-80", { context: 40_960 });
  assert.equal(fits(eight, 8), true);
  assert.equal(eight.plans.find(({ cards }) => cards === 8)!.tensor_parallel, 8);
});

Deno.test("DeepSeek-V3 in FP8 does not fit 8 × 80 GB, nor 4 × A100, with any context", () => {
  const hopper = planned(V3, "8xH100-80", { cache_type: "fp8_e4m3" });
  assert.equal(fits(hopper, 8), false);
  const ampere = planned(V3, "4xA100-80", { cache_type: "fp8_e4m3" });
  assert.equal(fits(ampere, 4), false);
  assert.match(said(ampere), /TRITON_MLA alone.*has no FP8 cache, so leave --kv-cache-dtype out/);
  assert.equal(fits(planned(V3, "8xH200"), 8), true);
  assert.equal(fits(planned(V3, "8xA100-80", { config: unquantized(V3) }), 8), false);
});

Deno.test("Qwen3-32B in BF16 does not fit 2 × RTX 4090; one A100-80 and one GH200-96 hold 32K", () => {
  assert.equal(fits(planned(Q32, "2xRTX4090"), 2), false);
  assert.equal(fits(planned(Q32, "A100-80", { context: 32_768 }), 1), true);
  assert.equal(fits(planned(Q32, "GH200-96", { context: 32_768 }), 1), true);
  assert.equal(fits(planned(Q32, "2xA6000", { context: 16_384 }), 2), true);
});

Deno.test("Qwen3-14B in BF16 does not fit one RTX 4090 or 3090 at all; one A100-40 holds 8K", () => {
  assert.equal(fits(planned(Q14, "RTX4090", { context: 8192 }), 1), false);
  assert.equal(fits(planned(Q14, "RTX3090", { context: 8192, utilization: .95 }), 1), false);
  assert.equal(fits(planned(Q14, "A100-40", { context: 8192 }), 1), true);
});

Deno.test("NVFP4 on H100 saves memory and no arithmetic, and it is said", () => {
  const quantization_config = {
    producer: { name: "modelopt" },
    quantization: { quant_algo: "NVFP4" },
  };
  const config = { ...unquantized(V3), quantization_config };
  const found = planned(V3, "8xH100-80", { config });
  assert.equal(fits(found, 8), true);
  assert.match(said(found), /nvfp4 is computed in its own type from compute capability 10\.0 on/);
  assert.doesNotMatch(said(planned(V3, "8xB200", { config })), /nvfp4 is computed/);
});

Deno.test("a context beyond the native one is said", () => {
  const found = planned(Q32, "2xH100-80", { context: 65_536 });
  assert.match(said(found), /65,536 tokens are more than its native context of 40,960/);
});
