import { z } from "zod";
import { defineCall } from "../define_call.ts";

const Nats = z.strictObject({
  mean: z.number().describe("nats a token"),
  standard_error: z.number().nullable().describe("over windows; null: there is one"),
  quantiles: z.array(z.strictObject({ share: z.number(), value: z.number() })).describe(
    "over tokens",
  ),
});

/** How far a model's predictions are from another's on a text, token by token and block by block. */
export const model_kl = defineCall("model_kl", {
  request: {
    base: z.string().describe("a directory, a GGUF file, or a name on the hub"),
    other: z.string().describe("one more, which must read the same tokens"),
    room_dir: z.string().describe("an empty folder, for a model that must be decoded"),
    text_path: z.string().nullable().describe(".jsonl of {text}; null: shipped"),
    windows: z.int().positive(),
    tokens: z.int().positive().describe("of each window"),
    seed: z.int(),
  },
  result: z.strictObject({
    text: z.string(),
    windows: z.int(),
    tokens: z.int(),
    kl: Nats.describe("of the other's distributions from the base's: KL(base ‖ other)"),
    reverse_kl: Nats.describe("KL(other ‖ base)"),
    agreement: z.number().describe("share of tokens whose best next token is the same"),
    blocks: z.array(z.number()).describe(
      "by block, the length of the hidden states' difference over that of the base's; empty: blocks were cut",
    ),
  }),
  imports: "torch",
});
