import { z } from "zod";

export const ConvertedLayer = z.strictObject({
  layer: z.string(),
  claimed: z.string().nullable().describe(
    "the grid that the files say it lies on, in words; null: they say nothing",
  ),
  found: z.string().nullable().describe("by the layer's own tensors; null: one is gone"),
  cosine: z.number().nullable().describe("of its weights with the source's dequantized ones"),
  opened_cosine: z.number().nullable().describe(
    "of what the library's layer gives for random inputs with what the source's weights give",
  ),
  problem: z.string().nullable().describe("what of it is not as in its source, in words"),
});
export type ConvertedLayer = z.infer<typeof ConvertedLayer>;

/** What was found of converted files, read back in a process that did not write them. */
export const ConversionFacts = z.strictObject({
  unreadable: z.string().nullable().describe("a file that is gone or damaged; null: none is"),
  layers: z.array(ConvertedLayer).describe("every packed layer of the source"),
  other_floats: z.array(z.string()).describe("float tensors that are gone, or not the source's"),
  fused_apart: z.array(z.array(z.string())).describe(
    "layers that some runtimes load as one and that lie on different grids",
  ),
  tensor_bytes: z.int().describe("in the files, without their headers"),
  formula_bytes: z.int(),
  opened_by: z.string().nullable().describe("libraries that loaded it; null: none is installed"),
  not_opened: z.string().nullable().describe("why they did not"),
  logits_cosine: z.number().nullable().describe(
    "of the library's logits with the source's, inputs as they are on both sides",
  ),
  rounded_cosine: z.number().nullable().describe(
    "the same as each side rounds the inputs; null: none are rounded",
  ),
  rounded_kl: z.number().nullable().describe("and their KL, nats per token"),
  plain_problem: z.string().nullable().describe(
    "why the library gives no logits in the type that config.json says; null: it does, or none is",
  ),
  read_otherwise: z.string().nullable().describe(
    "what another library that reads such files makes of it, where the program it is for is right",
  ),
  generated_text: z.string(),
  not_generated: z.string().nullable(),
});
export type ConversionFacts = z.infer<typeof ConversionFacts>;
