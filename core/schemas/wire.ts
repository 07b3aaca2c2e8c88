import { z } from "zod";
import { KnobDescription, KnobValue } from "./action.ts";
import {
  ArtifactFigure,
  FloatPart,
  LayerScore,
  LayerValue,
  MAX_FIGURES,
  ReadScores,
  ReadScoresRequest,
  SensitivityRequest,
  Verification,
} from "./artifact.ts";
import * as conversion from "../conversion/facts.ts";
import { Endpoint, RefusedTask } from "./endpoint.ts";
import { CarbonIntensity, CpuPower, EnergyReading } from "./energy.ts";
import { DeviceFacts, EvictAfter, ModelFacts, OwnFacts } from "./facts.ts";
import { Fidelity } from "./fidelity.ts";
import { FoundTask } from "./data/found_task.ts";
import { SampleSelection, WireTask } from "./data/wire_task.ts";
import { declared } from "../metrics/metric_table.ts";
import { Measurement, Numerics } from "./measurement.ts";
import { PushRequest, PushResult } from "./hub/push.ts";
import { MixRequest, MixResult } from "./layers/mix.ts";
import { PreparedData } from "./data/prepared_data.ts";
import { ScoredTask, ScoreRequest, ScoreResult } from "./scoring/scored.ts";

/**
 * The wire between the core and a Python worker: one JSON request on stdin, events as
 * newline-delimited JSON on stdout. NaN and infinities travel as the strings "NaN", "Infinity",
 * "-Infinity" (see `WireNumber` of worker_event.ts). Paths are absolute.
 */
export const PROTOCOL = 1;

/** Of a third party's runtime. */
const RuntimeDir = z.string().optional().describe(
  "folder of its Python half; absent: one of pare's",
);

/** A setting's file names no path: the artifact store resolves the id that it does name. */
const WeightsDir = z.string().optional().describe(
  "where the weights of a setting lie; absent: artifact_dir holds its own",
);

/** One dimension of a search space, as `Dimension` of core/search/space.ts. */
export const SuggestDimension = z.strictObject({
  name: z.string(),
  kind: z.enum(["real", "integer", "ordinal", "choice"]),
  minimum: z.number().nullable(),
  maximum: z.number().nullable(),
  log: z.boolean(),
  choices: z.array(KnobValue).nullable(),
  when: z.strictObject({ name: z.string(), values: z.array(KnobValue) }).nullable().describe(
    "it exists only where that dimension has one of these values; null: always",
  ),
});

/** A point that was tried, as `Seen` of core/search/space.ts. */
export const SeenPoint = z.strictObject({
  point: z.record(z.string(), KnobValue),
  state: z.enum(["done", "stopped", "infeasible", "failed", "pending"]),
  values: z.array(z.number()).nullable().describe("one an objective; null: not measured"),
  violations: z.array(z.number()).nullable().describe("above 0: a constraint is exceeded"),
});

export const CallRequest = z.discriminatedUnion("call", [
  /** What machine this is. Result: DeviceFacts. */
  z.strictObject({
    call: z.literal("inspect_device"),
    disk_path: z.string(),
    country: z.string().nullable().optional().describe("whose electricity; null: the world's mean"),
  }),
  /** Reads a model, writes (GGUF, tiny) or points to (checkpoint) its baseline directory. */
  z.strictObject({
    call: z.literal("import_model"),
    model_name: z.string(),
    output_dir: z.string().describe("empty directory; used where weights must be converted"),
    trust_remote_code: z.boolean(),
    tokenizer_dir: z.string().optional().describe("of the model whose tokenizer it must have"),
  }),
  /** Knobs of every Python method: for the conformance test. */
  z.strictObject({
    call: z.literal("describe"),
    python_path: z.string().optional().describe("only this file: a third party's Python half"),
  }),
  /** Benchmarks that are no plugin: what a name of lm-eval or a task file stands for. */
  z.strictObject({
    call: z.literal("find_tasks"),
    tasks: z.array(z.strictObject({
      asked: z.string().describe("as the user wrote it"),
      kind: z.enum(["name", "file"]),
      target: z.string().describe("lm-eval's name, or the absolute path of a task file"),
    })),
    trust_task_code: z.boolean().describe("a task file may name functions of its own"),
  }),
  /** Points that a sampler library proposes for a space and all that was tried of it. */
  z.strictObject({
    call: z.literal("suggest"),
    seed: z.int(),
    directions: z.array(z.enum(["minimize", "maximize"])).min(1),
    dimensions: z.array(SuggestDimension).describe("each behind the one that it hangs on"),
    seen: z.array(SeenPoint),
    count: z.int().positive().describe("points, each proposed as if those before it had failed"),
  }),
  /** Reads the evaluation rows, draws their order and writes windows of calibration and training. */
  z.strictObject({
    call: z.literal("prepare_data"),
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
  }),
  MixRequest,
  SensitivityRequest,
  ReadScoresRequest,
  PushRequest,
  /** One action: parent directory in, child directory out. */
  z.strictObject({
    call: z.literal("apply"),
    parent_dir: z.string(),
    output_dir: z.string(),
    agent: z.string(),
    method: z.string(),
    params: z.record(z.string(), KnobValue),
    calibration_path: z.string().nullable().describe("written by prepare_data"),
    seed: z.int(),
    python_path: z.string().nullable().describe("a third party's Python half: its .py file"),
    training_path: z.string().nullable().optional().describe("written by prepare_data"),
    work_dir: z.string().nullable().optional().describe(
      "the action's own folder: what a killed run left in it is found by the next one",
    ),
    parent_id: z.string().optional().describe("the parent's: a setting names its weights by it"),
    original_dir: z.string().nullable().optional().describe("the study's uncompressed model"),
    original_cache: z.string().nullable().optional().describe("what that model answers, kept"),
    student_dir: z.string().nullable().optional().describe("the smaller one that was named"),
    reference_dir: z.string().nullable().optional().describe(
      "the model before the latest actions that rounded or pruned the parent",
    ),
    layer_cache: z.string().nullable().optional().describe("the parent's rounded layers, kept"),
    device: z.enum(["cpu", "cuda"]).optional().describe("whose energy is counted; absent: cpu"),
    cpu_power: CpuPower.nullable().optional().describe("by which an estimate of it counts"),
  }),
  /** Reloads a written artifact in this fresh process and compares it with its source. */
  z.strictObject({
    call: z.literal("verify"),
    artifact_dir: z.string(),
    source_dir: z.string(),
    weights_dir: WeightsDir,
    plain_load: z.boolean().optional().describe(
      "whether the lines are tried that a report prints of what transformers loads by itself",
    ),
  }),
  /** Quality on the dequantized weights, activations quantized where the artifact says so. */
  z.strictObject({
    call: z.literal("evaluate"),
    artifact_dir: z.string(),
    tasks: z.array(WireTask),
    selections: z.array(SampleSelection),
    fidelity: Fidelity,
    batch_size: z.int(),
    samples_path: z.string().describe("Parquet of SampleResult, written by the worker"),
    seed: z.int(),
    batched_apart: z.array(SampleSelection).describe(
      "rows that earlier rungs may have answered, rung by rung: those of one share no forward pass " +
        "with others, so that scores are the same to the last bit with and without its answers",
    ),
    answers_path: z.string().nullable().describe(
      "answers of this artifact so far, read and added to; null: none are kept",
    ),
    answer_chars: z.int().describe("of each answer that are stored"),
    runtime: z.strictObject({
      name: z.string(),
      form_dir: z.string().describe("made by make_form"),
      python: z.string().describe("interpreter of its environment, which may lack lm-eval"),
      runtime_dir: RuntimeDir,
    }).nullable().describe("scores in this runtime, as its speed is measured; null: transformers"),
    allow_unsafe_code: z.boolean().describe("programs that the model writes run without a sandbox"),
    endpoint: Endpoint.optional().describe("this server answers; artifact_dir is not read"),
    judge: Endpoint.optional().describe("of scorers that ask one"),
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
    likelihood: z.literal(true).optional().describe(
      "the original's own answers are scored by their likelihood, none is generated but by the original",
    ),
  }),
  ScoreRequest,
  /** What a runtime loads in the place of an artifact. */
  z.strictObject({
    call: z.literal("make_form"),
    runtime: z.string(),
    artifact_dir: z.string(),
    output_dir: z.string().describe("empty directory"),
    exact: z.boolean().describe("every weight multiplied out to float32: for the proof"),
    runtime_dir: RuntimeDir,
  }),
  conversion.ConvertRequest,
  conversion.CheckConversionRequest,
  /** Latency, prefill, memory and energy of an artifact in a named runtime. */
  z.strictObject({
    call: z.literal("speed"),
    runtime: z.string(),
    artifact_dir: z.string(),
    form_dir: z.string().nullable().describe("made by make_form; null: it loads the checkpoint"),
    baseline_dir: z.string().nullable().describe("measured in turn with the artifact; null: alone"),
    baseline_form_dir: z.string().nullable().describe("the baseline's own"),
    prompt_tokens: z.int(),
    new_tokens: z.int(),
    repeats: z.int(),
    seed: z.int(),
    cpu_power: CpuPower.nullable().describe("null: an unknown CPU's"),
    carbon_intensity: CarbonIntensity.nullable().describe("null: CO2 is not told"),
    weights_dir: WeightsDir,
    runtime_dir: RuntimeDir,
  }),
  /** Logits of a text that a runtime samples itself, for prove_runtime. */
  z.strictObject({
    call: z.literal("runtime_logits"),
    runtime: z.string(),
    artifact_dir: z.string(),
    form_dir: z.string().describe("as it is timed"),
    exact_form_dir: z.string().describe("the same weights as float32"),
    tokens: z.int(),
    seed: z.int(),
    output_path: z.string(),
    runtime_dir: RuntimeDir,
  }),
  /** The runtime's logits, strict and as it is timed, against the dequantized model's. */
  z.strictObject({
    call: z.literal("prove_runtime"),
    runtime: z.string(),
    artifact_dir: z.string(),
    logits_path: z.string().describe("written by runtime_logits"),
  }),
]);
export type CallRequest = z.infer<typeof CallRequest>;
export type CallName = CallRequest["call"];

/** What stands on stdin. */
export const WorkerRequest = z.strictObject({
  protocol: z.literal(PROTOCOL),
  request_id: z.string(),
  threads: z.int().nullable(),
  request: CallRequest,
});
export type WorkerRequest = z.infer<typeof WorkerRequest>;

/** A figure by its name: what it is in and which way is better stands in the table of metrics. */
const RuntimeFigure = Measurement.omit({ unit: true, direction: true }).transform(
  (figure, context) => {
    const known = declared(figure.metric);
    if (known !== undefined) return { ...figure, ...known };
    context.addIssue({ code: "custom", message: `no metric "${figure.metric}" is declared` });
    return z.NEVER;
  },
);

/** Results by call. */
export const CallResults = {
  inspect_device: DeviceFacts,
  import_model: ModelFacts,
  describe: z.strictObject({
    methods: z.array(z.strictObject({
      agent: z.string(),
      method: z.string(),
      knobs: z.array(KnobDescription),
    })),
  }),
  find_tasks: z.strictObject({
    found: z.array(z.strictObject({
      asked: z.string(),
      tasks: z.array(FoundTask).describe("none: there is no such task"),
      near: z.array(z.string()).describe("names much like it"),
      reason: z.string().nullable().describe("why it cannot be had; null: it can, or is unknown"),
    })),
  }),
  suggest: z.strictObject({
    points: z.array(z.record(z.string(), KnobValue)),
  }),
  prepare_data: PreparedData,
  sensitivity: z.strictObject({ layers: z.array(LayerScore) }),
  read_scores: ReadScores,
  mix: MixResult,
  push_model: PushResult,
  apply: z.strictObject({
    size_bytes: z.int(),
    formula_bytes: z.int(),
    weight_bits: z.number(),
    activation_bits: z.int().nullable(),
    stored_layers: z.int(),
    peak_memory_bytes: z.int(),
    notes: z.array(z.string()),
    floats: z.array(FloatPart),
    loader: z.string(),
    model: OwnFacts.describe("the model that was written"),
    figures: z.array(ArtifactFigure).max(MAX_FIGURES).describe("what the method tells of it"),
  }),
  verify: Verification.extend({
    cosines: z.array(LayerValue).describe("of each layer's weights with the source's"),
  }),
  evaluate: z.strictObject({
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
  score: ScoreResult,
  make_form: z.strictObject({ size_bytes: z.int(), notes: z.array(z.string()) }),
  convert: conversion.Converted,
  check_conversion: conversion.ConversionFacts,
  speed: z.strictObject({
    measurements: z.array(RuntimeFigure),
    baseline_measurements: z.array(RuntimeFigure),
    numerics: Numerics,
    bytes_read_per_token: z.int(),
    memory_bandwidth_gb_s: z.number().describe("measured in the same run"),
    roofline_ms: z.number(),
    load_average: z.number(),
    energy: EnergyReading.describe("of the artifact's own passes"),
  }),
  prove_runtime: z.strictObject({
    strict_kl: z.number(),
    strict_max_difference: z.number(),
    default_kl: z.number(),
    default_agreement: z.number().describe("share of positions with the same best token"),
    rounding_kl: z.number().nullable().describe(
      "the evaluated model against itself, nudged by a float's last bits; null: nothing is rounded",
    ),
    tokens: z.int(),
    numerics: Numerics,
  }),
  runtime_logits: z.strictObject({ tokens: z.int() }),
} as const satisfies Record<CallName, z.ZodType>;
export type CallResult<S extends CallName> = z.infer<(typeof CallResults)[S]>;
