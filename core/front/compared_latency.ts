import type { Trial } from "../schemas/trial.ts";
import { logError, measuredRow, type Ratio, ratiosOf } from "./latency_ratio.ts";
import { t975 } from "../evidence/numerics/student_t.ts";
import { mean, quantile, Z95 } from "../evidence/statistics.ts";
import { weightedMean } from "../evidence/strata.ts";

/** What a latency is worked out from. */
export type TimedTrial = Pick<Trial, "trial_id" | "strategy" | "state" | "measurements">;

/** A trial's latency as it is compared with those of other minutes. */
export interface ComparedLatency {
  /** Over the baseline of the same minutes; the baseline's own is 1; null: no baseline was timed. */
  readonly ratio: number | null;
  /**
   * Standard error of the ratio's logarithm, the spread between sessions in it; 1.96 of it are the 95 %
   * interval, also where few sessions say what they differ by. Null: unknown.
   */
  readonly log_error: number | null;
  /** 95 %, of the ratio. */
  readonly interval: readonly [number, number] | null;
  /** The ratio times the study's one baseline, milliseconds per token. */
  readonly ms: number;
  /** What was timed: trials that share it share every figure here. */
  readonly form: string;
  /** Sessions that timed this form, several of one trial among them. */
  readonly sessions: number;
}

/**
 * What is known of the spread between sessions before a study shows its own: standard deviation of a
 * ratio's logarithm, and the degrees of freedom that this counts as. Page placement and clocks differ from
 * process to process and from hour to hour. Of the demo, timed in two studies of one quiet machine each, four
 * forms in OpenVINO differed by 2.6 % and two in llama.cpp by 7 and 9 % (5 % over all, a session's share of
 * which is 1 in √2, the passes' own error in it); beside other work one differed by 12 %.
 */
export const USUAL_SPREAD = { deviation: 0.03, freedom: 4 } as const;

const BASELINE = "baseline";

/** One timing of a form. */
interface Session {
  readonly trial_id: string;
  readonly form: string;
  /** A ratio, or the baseline's milliseconds. */
  readonly value: number;
  readonly log_error: number | null;
}

/** How long the unchanged model took, a session each. */
function baselineTimes(trials: readonly TimedTrial[], runtime: string): Session[] {
  return trials.flatMap(({ trial_id, strategy, measurements }) => {
    const metric = strategy === null ? "latency_ms" : "baseline_latency_ms";
    const row = measuredRow(measurements, metric, runtime);
    return row === undefined || !(row.value > 0)
      ? []
      : [{ trial_id, form: BASELINE, value: row.value, log_error: logError(row) }];
  });
}

/**
 * What a trial timed: the stored form by its hash. Journals that kept none: the same bytes to the
 * last one, run with the same numerics.
 */
function formOf({ trial_id, measurements }: TimedTrial, { row }: Ratio): string {
  if (row.form !== undefined) return row.form;
  const size = measurements.findLast(({ metric }) => metric === "size_bytes");
  if (size === undefined) return trial_id;
  const { inference_precision, kv_precision, activation_group } = row.numerics ?? {};
  return [size.value, inference_precision, kv_precision, activation_group].join(" ");
}

function grouped(sessions: readonly Session[]): Map<string, Session[]> {
  const groups = new Map<string, Session[]>();
  for (const session of sessions) {
    const group = groups.get(session.form);
    if (group === undefined) groups.set(session.form, [session]);
    else group.push(session);
  }
  return groups;
}

/**
 * Standard deviation of a ratio's logarithm between sessions, beyond what the passes within a session
 * show: from forms that were timed in several sessions, pooled by their degrees of freedom with what is
 * usual. As wide as Student's t asks for so few of them. What the baseline's own times differ by says
 * nothing of it: a session slows both sides of a ratio, and the first timing of a study, which begins on a
 * machine that did something else, may take three times as long.
 */
function sessionSpread(repeated: Iterable<readonly Session[]>): { spread: number; wider: number } {
  let squares = 0;
  let freedom = 0;
  for (const sessions of repeated) {
    if (sessions.length < 2) continue;
    const logs = sessions.map(({ value }) => Math.log(value));
    const centre = mean(logs);
    const within = mean(sessions.map(({ log_error }) => (log_error ?? 0) ** 2));
    const dof = sessions.length - 1;
    squares += logs.reduce((sum, log) => sum + (log - centre) ** 2, 0) - dof * within;
    freedom += dof;
  }
  const all = USUAL_SPREAD.freedom + freedom;
  const usual = USUAL_SPREAD.freedom * USUAL_SPREAD.deviation ** 2;
  return {
    spread: Math.sqrt((usual + Math.max(0, squares)) / all),
    wider: t975(all) / Z95,
  };
}

/** The geometric mean of a form's sessions, the surer ones counting more. */
function pooled(
  sessions: readonly Session[],
  spread: number,
): { ratio: number; log_error: number } {
  const errors = sessions.map(({ log_error }) => Math.hypot(log_error ?? 0, spread));
  if (sessions.length === 1) return { ratio: sessions[0]!.value, log_error: errors[0]! };
  const weights = errors.map((error) => 1 / error ** 2);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const log = weightedMean(
    sessions.map(({ value }, i) => ({ value: Math.log(value), weight: weights[i]! })),
  );
  return { ratio: Math.exp(log), log_error: 1 / Math.sqrt(total) };
}

/**
 * Every trial's latency in one runtime, by trial id: its ratio to the baseline of the same minutes,
 * times the median of the baseline's times over the study. Trials of one stored form share one
 * figure, the mean over their sessions, so that noise tells no two of them apart; the interval holds
 * what the sessions of a study differ by. Other forms may still be told apart by less than their
 * intervals: what that is worth, the probability of the front says.
 */
export function compareLatencies(
  trials: readonly TimedTrial[],
  runtime: string,
): Map<string, ComparedLatency> {
  const bases = baselineTimes(trials, runtime);
  if (bases.length === 0) return timesAlone(trials, runtime);
  const reference = quantile(bases.map(({ value }) => value).sort((a, b) => a - b), 0.5);
  const baseline = trials.find(({ strategy, state }) => strategy === null && state === "completed");
  const forms = grouped(
    trials.filter(({ strategy }) => strategy !== null).flatMap((trial) => {
      const { trial_id, measurements } = trial;
      return ratiosOf(measurements, "latency_ratio", runtime, baseline?.measurements)
        .map((ratio): Session => {
          const { value, log_error } = ratio;
          return { trial_id, form: formOf(trial, ratio), value, log_error };
        });
    }),
  );
  const { spread, wider } = sessionSpread(forms.values());
  const found = new Map<string, ComparedLatency>();
  for (const [form, sessions] of forms) {
    const { ratio, ...own } = pooled(sessions, spread);
    const log_error = wider * own.log_error;
    const times = Math.exp(Z95 * log_error);
    const interval = [ratio / times, ratio * times] as const;
    const ms = ratio * reference;
    const shared = { ratio, log_error, interval, ms, form, sessions: sessions.length };
    for (const { trial_id } of sessions) found.set(trial_id, shared);
  }
  const own = { ratio: 1, log_error: 0, interval: [1, 1] as const, ms: reference, form: BASELINE };
  const timed = new Set(bases.map(({ trial_id }) => trial_id));
  for (const { trial_id, strategy } of trials) {
    if (strategy === null && timed.has(trial_id)) {
      found.set(trial_id, { ...own, sessions: bases.length });
    }
  }
  return found;
}

/** Where no baseline was timed there is no ratio: the times themselves. */
function timesAlone(trials: readonly TimedTrial[], runtime: string): Map<string, ComparedLatency> {
  return new Map(trials.flatMap(({ trial_id, measurements }) => {
    const row = measuredRow(measurements, "latency_ms", runtime);
    if (row === undefined || !(row.value > 0)) return [];
    const log_error = logError(row);
    const alone = { ratio: null, interval: null, ms: row.value, form: trial_id, sessions: 1 };
    return [[trial_id, { ...alone, log_error }] as const];
  }));
}
