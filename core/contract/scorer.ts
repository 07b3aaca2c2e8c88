import type { z } from "zod";
import { knownMetric, QUALITY } from "../metrics/metric_table.ts";
import type { AnswerForm, KeptAnswer, WireMetric } from "../schemas/scoring/wire_scorer.ts";

/** A metric that a scorer gives every sample, with what a score of it may be. */
export interface ScorerMetric extends WireMetric {
  /** Least and largest score of a sample; null: there is no bound. */
  readonly range: readonly [least: number | null, largest: number | null];
}

/**
 * A row with an answer that is right and one that is wrong: what the conformance test scores, the right
 * one best and the wrong one worst.
 */
export interface ScorerExample<P> {
  readonly row: Readonly<Record<string, unknown>>;
  readonly params?: P;
  /** lm-eval's document of a task of such rows; absent: the scorer reads the row alone. */
  readonly definition?: Readonly<Record<string, unknown>>;
  /** lm-eval's metric and filter, such as acc,none; absent: the scorer goes by none. */
  readonly metric?: string;
  readonly right: Partial<KeptAnswer>;
  readonly wrong: Partial<KeptAnswer>;
}

/**
 * What makes scores of a task's answers. Answers are kept; a scorer may score them again at any time,
 * without the model. Its Python half is the file of the same name under
 * `pare_backends/evaluation/scorers/`.
 */
export interface Scorer<S extends z.ZodObject = z.ZodObject> {
  readonly kind: "scorer";
  readonly name: string;
  /** Another one wherever an answer may score otherwise than before: figures of two are not compared. */
  readonly version: string;
  /** One line, present tense; shown in reports. */
  readonly summary: string;
  /** What it needs of an answer: one of these. */
  readonly reads: readonly AnswerForm[];
  /**
   * What it gives every sample, the first being a task's own figure where the task names it first. A
   * function where that depends on its knobs, or on what the task reports.
   */
  readonly metrics:
    | readonly ScorerMetric[]
    | ((params: z.output<S>, reported_metric: string) => readonly ScorerMetric[]);
  /** Its knobs, each with a description; the Python half is given all of them. */
  readonly params: S;
  /** It asks a judge, a model behind a server: it scores only where one is named. */
  readonly judges?: true;
  /** It runs what the model wrote: that needs a sandbox. */
  readonly runs_code?: true;
  readonly example: ScorerExample<z.input<S>>;
  /** A third party's Python half: absolute path of the folder that holds its .py file. */
  readonly python_dir?: string;
}

/** How a task names a scorer. */
export interface TaskScorer {
  readonly scorer: string;
  /** Its knobs; those left out take their defaults. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Returns its argument; types metrics and example by the knobs. */
export function defineScorer<S extends z.ZodObject>(scorer: Omit<Scorer<S>, "kind">): Scorer {
  const made: Scorer<S> = { kind: "scorer", ...scorer };
  // Whoever holds scorers of every kind gives each the parameters that its own schema has checked.
  return made as unknown as Scorer;
}

/** A metric of the table as a scorer declares it. */
export function scorerMetric(name: string): ScorerMetric {
  const { unit, direction, scale } = knownMetric(name, "metric", QUALITY);
  return { metric: name, unit, direction, range: scale === "share" ? [0, 1] : [null, null] };
}

/** What a scorer gives with these knobs to a task that reports this metric. */
export function metricsOf(
  { metrics }: Scorer,
  params: Record<string, unknown>,
  reported_metric: string,
): readonly ScorerMetric[] {
  return typeof metrics === "function" ? metrics(params, reported_metric) : metrics;
}
