import { METRICS } from "../metrics/metric_table.ts";
import { ranIn } from "../metrics/runtime_words.ts";
import type { Measurement } from "../schemas/measurement.ts";

/**
 * Figures that are measured in turn with the baseline, by the name of their ratio to it. A machine's
 * state moves from minute to minute, so that figures of two minutes are compared by these alone.
 */
export const RATIOS: ReadonlyMap<string, string> = new Map(
  METRICS.flatMap(({ name, ratio }) => ratio === undefined ? [] : [[ratio, name]]),
);

/** The original's, as it was timed in turn with a trial. */
const BESIDE = "baseline_latency_ms";

/** A figure over the baseline's. */
export interface Ratio {
  readonly value: number;
  /** Standard error of its logarithm; null: of a single pass. */
  readonly log_error: number | null;
  /** Whether the baseline ran beside it; no: it was measured alone, at another time. */
  readonly beside: boolean;
  /** What was timed. */
  readonly row: Measurement;
}

function measuredRows(
  measurements: readonly Measurement[],
  metric: string,
  runtime: string,
): Measurement[] {
  return measurements.filter((row) =>
    row.metric === metric && row.provenance === "measured" && row.runtime === runtime &&
    Number.isFinite(row.value)
  );
}

/** The latest measured row of a metric in a runtime. */
export function measuredRow(
  measurements: readonly Measurement[],
  metric: string,
  runtime: string,
): Measurement | undefined {
  return measuredRows(measurements, metric, runtime).at(-1);
}

/** Where a trial's time per token and the original's beside it were taken, in words. */
export interface RatioSides {
  readonly own: string;
  readonly original: string;
}

/** Both sides of a trial's latency ratio; null: its own was not measured. */
export function ratioSides(
  measurements: readonly Measurement[],
  runtime: string,
): RatioSides | null {
  const own = ranIn(measuredRow(measurements, "latency_ms", runtime));
  if (own === null) return null;
  // Journals of before kept no baseline beside a trial: it ran as its own did.
  return { own, original: ranIn(measuredRow(measurements, BESIDE, runtime)) ?? runtime };
}

/** A ratio to the original with both of its sides: "0.47 of the original's in llama.cpp (float16)". */
export function besideOriginal(ratio: string, sides: RatioSides | null): string {
  if (sides === null) return `${ratio} of the original's`;
  const own = sides.own === sides.original ? "" : `, itself in ${sides.own}`;
  return `${ratio} of the original's in ${sides.original}${own}`;
}

/** Cores that other work took of the latest timing in a runtime; 0: too few to matter, or none known. */
export function busyCores(measurements: readonly Measurement[], runtime: string): number {
  return measuredRow(measurements, "latency_ms", runtime)?.busy_cores ?? 0;
}

/** Relative error of a row: the error of its logarithm. */
export function logError({ value, standard_error }: Measurement): number | null {
  return standard_error === null || !Number.isFinite(standard_error)
    ? null
    : standard_error / value;
}

function quotient(own: Measurement, base: Measurement, beside: boolean): Ratio | null {
  if (!(own.value > 0) || !(base.value > 0)) return null;
  const errors = [logError(own), logError(base)];
  const log_error = errors.some((one) => one === null) ? null : Math.hypot(...errors as number[]);
  return { value: own.value / base.value, log_error, beside, row: own };
}

function pairedRatio(row: Measurement): Ratio {
  return { value: row.value, log_error: logError(row), beside: true, row };
}

/**
 * Every timing of a trial as a ratio (`ratioOf`): those that other work disturbed only where no other is.
 * A trial that was timed again has several, and what they differ by is part of what is known of it.
 */
export function ratiosOf(
  measurements: readonly Measurement[],
  metric: string,
  runtime: string,
  alone: readonly Measurement[] = [],
): Ratio[] {
  const paired = measuredRows(measurements, metric, runtime).filter(({ value }) => value > 0);
  const quiet = paired.filter(({ busy_cores }) => busy_cores === undefined);
  const used = quiet.length > 0 ? quiet : paired;
  if (used.length > 0) return used.map(pairedRatio);
  const found = ratioOf(measurements, metric, runtime, alone);
  return found === null ? [] : [found];
}

/**
 * A trial's ratio to the baseline of the same minutes: as it was measured, pair by pair; of journals
 * that kept none, the quotient of both medians with their errors; of those that kept no baseline
 * beside the trial, over the one measured alone (`alone`). Null: not measured in this runtime.
 */
export function ratioOf(
  measurements: readonly Measurement[],
  metric: string,
  runtime: string,
  alone: readonly Measurement[] = [],
): Ratio | null {
  const paired = measuredRow(measurements, metric, runtime);
  if (paired !== undefined && paired.value > 0) {
    return pairedRatio(paired);
  }
  const figure = RATIOS.get(metric);
  if (figure === undefined) throw new RangeError(`No metric has the ratio ${metric}`);
  const own = measuredRow(measurements, figure, runtime);
  if (own === undefined) return null;
  const beside = measuredRow(measurements, `baseline_${figure}`, runtime);
  if (beside !== undefined) return quotient(own, beside, true);
  const before = measuredRow(alone, figure, runtime);
  return before === undefined ? null : quotient(own, before, false);
}
