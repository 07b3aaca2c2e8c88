import { CHECKS, metricOf, METRICS, TOKEN_FIGURES } from "./metric_table.ts";

/** Bytes below 1 kB as they are, in kilobytes below 0.1 MB, in megabytes below 10 GB, else in
 * gigabytes (powers of ten). */
export function bytesText(value: number): string {
  if (value < 1000) return `${value} bytes`;
  if (value < 1e5) return `${(value / 1e3).toFixed(1)} kB`;
  return value >= 1e10 ? `${(value / 1e9).toFixed(1)} GB` : `${(value / 1e6).toFixed(1)} MB`;
}

/** Figures that no rule is about, by name. */
const CHECKED: Readonly<Record<string, { readonly words: string }>> = {
  ...CHECKS,
  ...TOKEN_FIGURES,
};

/** What any figure is called in a sentence, by the tables; one that they lack by its own name's words. */
export function metricWords(name: string): string {
  const known = metricOf(name) ?? CHECKED[name];
  if (known !== undefined) return known.words;
  const over = METRICS.find(({ ratio }) => ratio === name);
  if (over !== undefined) return `${over.words} over the baseline's`;
  const beside = name.startsWith("baseline_") ? name.slice("baseline_".length) : null;
  return beside === null ? name.replaceAll("_", " ") : `the baseline's ${metricWords(beside)}`;
}

/** A limit on a study: what it is on, and the unit that its threshold is written in. */
const LIMITS: Readonly<Record<string, { readonly words: string; readonly unit: string }>> = {
  max_accuracy_drop: { words: "accuracy drop", unit: "" },
  max_perplexity_rise: { words: "rise of perplexity", unit: "%" },
  max_latency_ms: { words: "latency", unit: "ms/token" },
  max_size_gb: { words: "size on disk", unit: "GB" },
  max_vram_gb: { words: "memory", unit: "GB" },
  max_kv_gb: { words: "KV cache at the context", unit: "GB" },
};

/** Before the metric that a goal against the baseline is on. */
const GOAL = "goal/";

/** The constraint on how much worse than the baseline's a figure may be. */
export const goalLimit = (metric: string): string => `${GOAL}${metric}`;

/** The metric that a constraint is a goal on; null: it is none. */
export function aimedMetric(constraint: string): string | null {
  return constraint.startsWith(GOAL) ? constraint.slice(GOAL.length) : null;
}

/** Before the name of a task that has a limit of its own. */
const TASK_LIMIT = "max_task_drop/";

/** The constraint on what one task may lose. */
export const taskLimit = (task: string): string => `${TASK_LIMIT}${task}`;

/** The task that a constraint is on alone; null: it is on none alone. */
export function limitedTask(constraint: string): string | null {
  return constraint.startsWith(TASK_LIMIT) ? constraint.slice(TASK_LIMIT.length) : null;
}

/** What a constraint is on, in a sentence: `max_latency_ms` is a limit on `latency`. */
export function limitWords(constraint: string): string {
  const task = limitedTask(constraint);
  if (task !== null) return `drop of ${task}`;
  const aimed = aimedMetric(constraint);
  if (aimed !== null) return `worsening of ${metricWords(aimed)}`;
  return LIMITS[constraint]?.words ?? constraint.replace(/^max_/, "").replaceAll("_", " ");
}

/** `8,192 tokens`; not by Intl, whose first use takes longer than a study's spec. */
export const contextWords = (tokens: number): string =>
  `${String(tokens).replaceAll(/\B(?=(\d{3})+$)/g, ",")} tokens`;

/** Words of a figure at "the context" with the length that a study asks for; absent: they stay as they are. */
export function atContext(words: string, context_tokens: number | undefined): string {
  return context_tokens === undefined
    ? words
    : words.replace("at the context", `at ${contextWords(context_tokens)}`);
}

/** What a constraint is on in a study: where it asks for a context, memory is counted at that. */
export function limitWordsAt(constraint: string, context_tokens: number | undefined): string {
  if (context_tokens === undefined) return limitWords(constraint);
  const words = constraint === "max_vram_gb"
    ? metricWords("memory_bytes_at_context")
    : limitWords(constraint);
  return atContext(words, context_tokens);
}

/** What a constraint is written in, and how often that is in a figure of it. */
function writtenIn(constraint: string): { readonly unit: string; readonly times: number } {
  const aimed = aimedMetric(constraint);
  const unit = aimed === null ? LIMITS[constraint]?.unit ?? "" : metricOf(aimed)?.unit ?? "";
  // A goal on perplexity is judged by its relative rise, as its limit is.
  if (unit === "%" || aimed === "perplexity") return { unit: "%", times: 100 };
  if (unit === "bytes") return { unit: "MB", times: 1e-6 };
  return { unit: unit === "1" ? "" : unit, times: 1 };
}

/** A constraint's figure in the unit that it is written in: a share in percent where that is `%`. */
export function inLimitUnit(constraint: string, value: number): number {
  return writtenIn(constraint).times * value;
}

/** The unit of a constraint's threshold behind a figure: ` ms/token`; empty where it has none. */
export function limitUnit(constraint: string): string {
  const { unit } = writtenIn(constraint);
  return unit === "" ? "" : ` ${unit}`;
}
