import { z } from "zod";
import { Endpoint, RefusedTask } from "../../schemas/endpoint.ts";
import { Judge } from "../../schemas/scoring/judge.ts";
import { KnobValue } from "../../schemas/action.ts";
import { CALL_OPTIONS } from "../../schemas/call_options.ts";
import { EvictAfter } from "../../schemas/facts.ts";
import { Fidelity } from "../../schemas/fidelity.ts";
import { SampleSelection, WireTask } from "../../schemas/data/wire_task.ts";
import { Measurement } from "../../schemas/measurement.ts";
import { ScoredTask } from "../../schemas/scoring/scored.ts";
import { Precision, RuntimeDir, WeightsDir } from "../folders.ts";
import { defineCall } from "../define_call.ts";

/** Quality on the dequantized weights, activations quantized where the artifact says so. */
export const evaluate = defineCall("evaluate", {
  request: {
    artifact_dir: z.string(),
    tasks: z.array(WireTask),
    selections: z.array(SampleSelection),
    fidelity: Fidelity,
    batch_size: z.int(),
    ...CALL_OPTIONS.evaluate.shape,
    samples_path: z.string().describe("Parquet of SampleResult, written by the worker"),
    seed: z.int(),
    batched_apart: z.array(SampleSelection).describe(
      "rows that earlier rungs may have answered, rung by rung: those of one share no forward pass " +
        "with others, so that scores are the same to the last bit with and without its answers",
    ),
    answers_path: z.string().nullable().describe(
      "answers of this artifact so far, read and added to; null: none are kept",
    ),
    runtime: z.strictObject({
      name: z.string(),
      form_dir: z.string().describe("made by make_form"),
      python: z.string().describe("interpreter of its environment, which may lack lm-eval"),
      precision: Precision,
      runtime_dir: RuntimeDir,
      cache: z.record(z.string(), KnobValue).optional().describe(
        "values of the knobs of its cache; absent: it is kept as when its speed is measured",
      ),
    }).nullable().describe("scores in this runtime, as its speed is measured; null: transformers"),
    endpoint: Endpoint.optional().describe("this server answers; artifact_dir is not read"),
    judge: Judge.optional().describe("of scorers that ask one"),
    panel: z.array(Judge).optional().describe("further judges, of which the majority counts"),
    chat_template: z.boolean().optional().describe("prompts stand in the model's chat template"),
    weights_dir: WeightsDir,
    original: z.strictObject({
      artifact_dir: z.string(),
      artifact_id: z.string(),
      cache_dir: z.string().describe("of this model alone: what it says is kept there"),
    }).optional().describe("the uncompressed model, which others are held against"),
    evict_after: EvictAfter.optional().describe(
      "a cache is cut after each sample's context, and what follows alone is scored",
    ),
    beside: z.array(z.strictObject({
      artifact_dir: z.string(),
      answers_path: z.string().describe("of its own evaluation"),
    })).optional().describe(
      "other settings of the same weights: a prompt is read once for all of them, and what they answer is kept for their own evaluations",
    ),
    likelihood: z.literal(true).optional().describe(
      "the original's own answers are scored by their likelihood, none is generated but by the original",
    ),
  },
  result: z.strictObject({
    measurements: z.array(Measurement),
    samples: z.int(),
    requests: z.int().describe("log-likelihoods, windows and generations"),
    reused_requests: z.int().describe("of these, answered by an earlier evaluation"),
    samples_sha256: z.string(),
    protocol: z.record(z.string(), z.string()).describe(
      "task: hash over version, template, rows and decoding; equal hashes may be compared",
    ),
    protocol_parts: z.record(z.string(), z.record(z.string(), z.string())).describe(
      "task: what the hash is over, by name, so that a difference can be said",
    ),
    refused: z.array(RefusedTask).describe("tasks that could not be measured: the others were"),
    scored: z.array(ScoredTask).describe("by scorers beside the first of a task"),
  }),
  imports: "tasks",
  of_trial: true,
  sampled: true,
  told_by_loop: true,
  servers: ({ endpoint, judge, panel = [] }) => [endpoint, judge, ...panel],
});
