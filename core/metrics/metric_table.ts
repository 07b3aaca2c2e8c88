import { unknownName, UsageError } from "../errors.ts";

/** Weighted parts of the reward; the first gains, the others cost. */
export const WEIGHTS = [
  "accuracy",
  "distance",
  "latency",
  "size",
  "memory",
  "energy",
  "co2",
] as const;
export type WeightName = (typeof WEIGHTS)[number];

/** What pare knows of a figure by its name: declared here, once. */
export interface Metric {
  readonly name: string;
  /** distance: how far the answers are from the original's, whether right or wrong. */
  readonly kind: "quality" | "distance" | "speed" | "size" | "energy";
  readonly unit: string;
  readonly direction: "maximize" | "minimize";
  /** share: from 0 to 1, so that tasks have a mean; open: any number. */
  readonly scale: "share" | "open";
  /** Its column in tables. */
  readonly heading: string;
  /** In a sentence. */
  readonly words: string;
  /** What it may also be called in `--front`. */
  readonly short?: string;
  /** The part of the reward that it steers; every metric that a front may be of steers one. */
  readonly weight?: WeightName;
  /** What evaluators call it: a task file's metric is read by these. */
  readonly aliases?: readonly string[];
  /** Measured in a runtime, which may have none to give; else of the weights or the answers. */
  readonly in_runtime?: true;
  /** Its ratio to the baseline measured in turn: figures of other minutes are compared by that. */
  readonly ratio?: string;
  /** The same timing told the other way round, which has such a ratio. */
  readonly reciprocal_of?: string;
  /** A sample's score is the figure's logarithm (`scaleOf`): a difference is relative. */
  readonly samples?: "logarithm";
  /**
   * It is a column of `leaderboard_wide` and `trial_summary`, and, as it was measured, of `trial_figures`:
   * what the column means, for its comment.
   */
  readonly column?: string;
  /** May be below 0: a difference of two figures. */
  readonly signed?: true;
  /** May be in a study's front; a task's own metric counts there by the mean over tasks. */
  readonly objective?: true;
}

const share = (name: string, heading: string, more: Partial<Metric> = {}): Metric => ({
  name,
  kind: "quality",
  unit: "1",
  direction: "maximize",
  scale: "share",
  heading,
  words: heading,
  ...more,
});

const open = (
  kind: Metric["kind"],
  name: string,
  [heading, unit]: readonly [heading: string, unit: string],
  more: Partial<Metric> = {},
): Metric => ({
  name,
  kind,
  unit,
  direction: "minimize",
  scale: "open",
  heading,
  words: heading,
  ...more,
});

/** Every metric that a rule is about, in the order of columns. */
export const METRICS: readonly Metric[] = [
  share("accuracy", "accuracy", {
    weight: "accuracy",
    column: "unweighted mean over the primary tasks, 0 to 1",
    objective: true,
    aliases: ["acc", "acc_norm", "acc_bytes", "acc_mutual_info"],
  }),
  share("exact_match", "exact match", { aliases: ["em", "exact_match_original"] }),
  share("f1", "F1", { aliases: ["qa_f1_score", "token_f1"] }),
  share("rouge_l", "ROUGE-L", { aliases: ["rougeL", "rougeLsum", "rouge_score"] }),
  share("edit_similarity", "edit similarity", { aliases: ["code_sim_score", "edit_sim"] }),
  share("reciprocal_rank", "reciprocal rank", { aliases: ["mrr"] }),
  share("score", "score"),
  open("quality", "perplexity", ["perplexity", "exp(nats/token)"], {
    samples: "logarithm",
    weight: "accuracy",
    column: "of the study's text; lower is better",
    objective: true,
  }),
  open("distance", "kl", ["KL", "nats/token"], {
    words: "KL to the original",
    weight: "distance",
    objective: true,
  }),
  open("distance", "choice_kl", ["KL of choices", "nats/sample"], {
    words: "KL to the original over the choices",
    weight: "distance",
    objective: true,
  }),
  open("distance", "answer_likelihood", ["likelihood lost", "nats/token"], {
    words: "likelihood lost of the original's answers",
    signed: true,
  }),
  open("distance", "flips", ["flips", "1"], { weight: "distance", objective: true }),
  open("distance", "changed_answers", ["changed answers", "1"], {
    weight: "distance",
    objective: true,
  }),
  open("speed", "latency_ms", ["ms/token", "ms/token"], {
    in_runtime: true,
    words: "latency",
    short: "latency",
    weight: "latency",
    ratio: "latency_ratio",
    column:
      "milliseconds per generated token: latency_ratio times the median of the baseline's times over the study; NULL: only emulated, or not measured",
    objective: true,
  }),
  open("speed", "prefill_ms_per_token", ["prefill ms/token", "ms/token"], {
    in_runtime: true,
    weight: "latency",
    ratio: "prefill_ratio",
    objective: true,
  }),
  open("speed", "prefill_tokens_per_s", ["prefill tokens/s", "tokens/s"], {
    reciprocal_of: "prefill_ms_per_token",
    weight: "latency",
    in_runtime: true,
    direction: "maximize",
    column: "prompt tokens per second, as timed",
    objective: true,
  }),
  open("speed", "decode_tokens_per_s", ["decode tokens/s", "tokens/s"], {
    reciprocal_of: "latency_ms",
    weight: "latency",
    in_runtime: true,
    direction: "maximize",
    objective: true,
  }),
  open("size", "size_bytes", ["size", "bytes"], {
    words: "size on disk",
    short: "size",
    weight: "size",
    column: "bytes of the weight files on disk",
    objective: true,
  }),
  open("size", "memory_bytes", ["memory", "bytes"], {
    in_runtime: true,
    short: "memory",
    weight: "memory",
    column: "peak memory of the inference process",
    objective: true,
  }),
  open("size", "gpu_memory_bytes", ["GPU memory", "bytes"], {
    in_runtime: true,
    weight: "memory",
    column: "peak memory allocated on the GPU",
    objective: true,
  }),
  // Of trials that set a policy of the cache, at the longest context measured: no front can be of it.
  open("size", "kv_bytes", ["KV cache as it ran", "bytes"], {
    words: "KV cache",
    in_runtime: true,
    column:
      "bytes of the KV cache at the longest context measured, each length in measurements; NULL: the trial sets no policy of the cache",
  }),
  open("size", "context_kv_bytes", ["KV cache of a context", "bytes"], {
    weight: "memory",
    short: "kv",
    column:
      "bytes of the KV cache that is left of a benchmark's contexts, mean over its samples; NULL: the study reads whole texts",
    objective: true,
  }),
  open("size", "kv_bytes_at_context", ["KV cache at the context", "bytes"], {
    weight: "memory",
    column:
      "bytes of keys and values at the study's context_tokens, by formula, as 16-bit numbers or as a policy stores them; NULL: no context was asked for",
    objective: true,
  }),
  open("size", "memory_bytes_at_context", ["weights and KV cache at the context", "bytes"], {
    weight: "memory",
    column:
      "bytes of the weights on disk and of keys and values at the study's context_tokens; NULL: no context was asked for",
    objective: true,
  }),
  open("energy", "energy_j_per_1k_tokens", ["J/1k tokens", "J/1k tokens"], {
    in_runtime: true,
    words: "energy",
    short: "energy",
    weight: "energy",
    ratio: "energy_ratio",
    column: "joules for 1,000 generated tokens",
    objective: true,
  }),
  open("energy", "co2_g_per_1k_tokens", ["g CO2/1k tokens", "g/1k tokens"], {
    in_runtime: true,
    words: "CO2",
    short: "co2",
    weight: "co2",
    ratio: "co2_ratio",
    column: "grams of CO2 for 1,000 generated tokens, by the study's country and carbon_g_per_kwh",
    objective: true,
  }),
];

const BY_NAME: ReadonlyMap<string, Metric> = new Map(METRICS.map((one) => [one.name, one]));

/** The metric of that name; undefined: one that no rule is about, such as a runtime's own check. */
export function metricOf(name: string): Metric | undefined {
  return BY_NAME.get(name);
}

/** What a figure's value is in, and which way is better. */
export type Declared = Pick<Metric, "unit" | "direction">;
type Checked = Pick<Metric, "unit" | "direction" | "words">;

/** Figures of a runtime, or of a cache, that no rule is about and no table has a column of. */
export const CHECKS = {
  roofline_ms: { unit: "ms/token", direction: "minimize", words: "roofline time per token" },
  runtime_strict_kl: {
    unit: "nats/token",
    direction: "minimize",
    words: "KL of the runtime in full precision",
  },
  runtime_kl: { unit: "nats/token", direction: "minimize", words: "KL of the runtime" },
  rounding_kl: { unit: "nats/token", direction: "minimize", words: "KL of the rounding" },
  kv_crossing_tokens: {
    unit: "tokens",
    direction: "minimize",
    words: "length from which on the KV cache is smaller than the full one",
  },
  runtime_agreement: { unit: "1", direction: "maximize", words: "agreement of the runtime" },
} as const satisfies Record<string, Checked>;

/** What stands beside a mean KL on text: figures of single tokens, as llama.cpp prints them. */
export const TOKEN_FIGURES = {
  kl_median: { unit: "nats/token", direction: "minimize", words: "KL, median" },
  kl_p90: { unit: "nats/token", direction: "minimize", words: "KL, 90th percentile" },
  kl_p99: { unit: "nats/token", direction: "minimize", words: "KL, 99th percentile" },
  kl_p999: { unit: "nats/token", direction: "minimize", words: "KL, 99.9th percentile" },
  kl_maximum: { unit: "nats/token", direction: "minimize", words: "KL, largest" },
  same_top_token: { unit: "1", direction: "maximize", words: "same likeliest token" },
  mean_delta_p: { unit: "1", direction: "maximize", words: "Δp of the right token, mean" },
  rms_delta_p: { unit: "1", direction: "minimize", words: "Δp of the right token, RMS" },
} as const satisfies Record<string, Checked>;

/** What is declared of a metric, or of a metric's ratio to the baseline; undefined: neither is it. */
export function declared(name: string): Declared | undefined {
  const metric = metricOf(name);
  if (metric !== undefined) return { unit: metric.unit, direction: metric.direction };
  const over = METRICS.find(({ ratio }) => ratio === name);
  return over === undefined ? undefined : { unit: "1", direction: over.direction };
}

/** The metric of a name that a person or a plugin gave; an unknown one is refused. */
export function knownMetric(name: string, what: string, of: readonly Metric[] = METRICS): Metric {
  const found = of.find((one) => one.name === name || one.short === name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName(what, name, of.map((one) => one.short ?? one.name)));
}

/** Metrics that a task may report. */
export const QUALITY: readonly Metric[] = METRICS.filter(({ kind }) => kind === "quality");

/** Metrics of how far a trial's answers are from the original's. */
export const DISTANCES: readonly Metric[] = METRICS.filter(({ kind }) => kind === "distance");

/** Whether a figure says how far the answers are from the original's. */
export function isDistance(name: string): boolean {
  return metricOf(name)?.kind === "distance";
}

/** Whether a figure says how good the answers are. */
export function isQualityMetric(name: string): boolean {
  return metricOf(name)?.kind === "quality";
}

/** Whether a figure is of the answers on a rung, not of the weights or a runtime. */
export function isOfAnswers(name: string): boolean {
  return isQualityMetric(name) || isDistance(name);
}

/** Whether it is a score from 0 to 1, more being better, so that tasks have a mean. */
export function isShare(name: string): boolean {
  return metricOf(name)?.scale === "share";
}

/**
 * The name of what an evaluator calls its metric: by the table, else `score`. Names with "acc" as a
 * word are accuracies (`prompt_level_strict_acc`); a filter behind a comma does not count.
 */
export function reportedName(evaluators: string): string {
  const [name = ""] = evaluators.split(",");
  const found = QUALITY.find((one) => one.name === name || one.aliases?.includes(name));
  if (found !== undefined) return found.name;
  return /(^|_)acc(_|$)|accuracy/.test(name) ? "accuracy" : "score";
}
