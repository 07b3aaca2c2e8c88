import { z } from "zod";
import { KnobValue } from "../../schemas/action.ts";
import { MixCandidate } from "../../schemas/layers/mix.ts";
import { defineCall } from "../define_call.ts";

/** The best assignment of kept layers to formats under a budget. */
export const mix = defineCall("mix", {
  request: {
    artifact_dir: z.string(),
    calibration_path: z.string().describe("written by prepare_data"),
    formats: z.array(z.string()).min(1).describe("by name, such as 4-bit-g64"),
    windows: z.int().positive().describe("that layers are rounded and scored by"),
    tokens: z.int().positive().describe("of each window"),
    budget_bits: z.number().positive().nullable().describe("per linear weight"),
    budget_bytes: z.int().positive().nullable().describe("of the linear layers"),
    refine: z.int().nonnegative().describe("mixes that are evaluated; 0: scores decide"),
    refine_windows: z.int().nonnegative().describe("further windows, which evaluate alone"),
    fused: z.boolean().describe("layers that are given the same input share a format"),
    seed: z.int(),
    layer_cache: z.string().describe("the model's rounded layers, kept"),
  },
  result: z.strictObject({
    budget_bytes: z.int(),
    mixes: z.array(MixCandidate).min(1),
    curve: z.array(z.strictObject({
      weight_bits: z.number(),
      size_bytes: z.int(),
      predicted_kl: z.number(),
    })).describe("the best mix of each budget, by scores"),
    solve_seconds: z.number(),
    kept_bytes: z.int().describe("of all layers in all formats on disk"),
    action: z.strictObject({
      agent: z.string(),
      method: z.string(),
      params: z.record(z.string(), KnobValue),
    }).describe("the mix that won as an ordinary action: it needs no kept layers"),
  }),
  imports: "torch",
});
