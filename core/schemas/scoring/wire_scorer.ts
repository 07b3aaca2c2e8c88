import { z } from "zod";

/**
 * What of an answer a scorer reads: log-likelihoods of given texts (choices, or the one continuation),
 * a generated text, several programs whose tests the row has, or the loss of a window of text.
 */
export const AnswerForm = z.enum(["choices", "text", "programs", "windows"]);
export type AnswerForm = z.infer<typeof AnswerForm>;

/** What a model said to a sample: all that a scorer is shown of it. */
export interface KeptAnswer {
  /** What it wrote, each answer that was drawn. */
  readonly texts: readonly string[];
  /** Nats, of each given text in order; of a window of the whole. */
  readonly likelihoods: readonly number[];
  /** Whether it would have written each of them by itself; null: not kept. */
  readonly greedy: readonly boolean[] | null;
  /** Tokens of a window that were predicted. */
  readonly tokens: number | null;
}

/** A metric that a scorer gives. */
export const WireMetric = z.strictObject({
  metric: z.string(),
  unit: z.string(),
  direction: z.enum(["maximize", "minimize"]),
});
export type WireMetric = z.infer<typeof WireMetric>;

/** A scorer of a task as the Python half is asked for it. */
export const WireScorer = z.strictObject({
  scorer: z.string(),
  version: z.string(),
  params: z.record(z.string(), z.unknown()).describe("every knob with its value"),
  reads: z.array(AnswerForm),
  metrics: z.array(WireMetric).min(1).describe("the first is its own"),
  judges: z.boolean().describe("it asks a model behind a server"),
  python_path: z.string().nullable().describe("a third party's Python half: its .py file"),
});
export type WireScorer = z.infer<typeof WireScorer>;
