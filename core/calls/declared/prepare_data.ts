import { z } from "zod";
import { WireTask } from "../../schemas/data/wire_task.ts";
import { PreparedData } from "../../schemas/data/prepared_data.ts";
import { defineCall } from "../define_call.ts";

/** Reads the evaluation rows, draws their order and writes windows of calibration and training. */
export const prepare_data = defineCall("prepare_data", {
  request: {
    model_dir: z.string().nullable().describe("whose tokenizer is taken; null: none is needed"),
    tasks: z.array(WireTask),
    calibration_path: z.string().nullable().describe(
      ".jsonl(.gz) of {text} or {prompt, answer}; null: shipped",
    ),
    calibration_windows: z.int(),
    calibration_tokens: z.int().describe("tokens per window"),
    output_dir: z.string(),
    seed: z.int(),
    sample_seed: z.int().describe("draws the order in which rows are taken"),
    sample_seeds: z.record(z.string(), z.int()).describe("of tasks that have one of their own"),
    training: z.strictObject({
      path: z.string().nullable().describe(
        ".jsonl(.gz) of {text} or {prompt, answer}; null: shipped",
      ),
      windows: z.int(),
      tokens: z.int().describe("tokens per window"),
    }).nullable().optional().describe("absent: no method trains"),
    own_rows: z.array(z.string()).optional().describe(
      "tasks whose rows are the user's own: one that is longer than the model reads is refused",
    ),
  },
  result: PreparedData,
  imports: "tasks",
});
