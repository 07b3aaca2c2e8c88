import { predictorWords } from "../evidence/sequence/control_variate.ts";
import { inLimitUnit } from "../metrics/metric_words.ts";
import type { ConstraintVerdict, Trial } from "../schemas/trial.ts";
import { trialName } from "../strategies/strategy_names.ts";

/** A trial's constraints that are violated for sure. */
export function violations(trial: Trial): ConstraintVerdict[] {
  return trial.constraints.filter((verdict) => verdict.verdict === "violated");
}

/** A trial's constraints that are not met for sure. */
export function undecided(trial: Trial): ConstraintVerdict[] {
  return trial.constraints.filter((verdict) => verdict.verdict !== "met");
}

/** Whether an undecided constraint looks violated: its estimate lies beyond the threshold. */
export function looksViolated(trial: Trial): boolean {
  return undecided(trial).some(({ value, threshold }) => value !== null && value > threshold);
}

/** What people call a trial, such as `t03`; "the original" for a baseline. */
export function nameOf({ strategy, number }: Trial): string {
  return strategy === null ? "the original" : trialName(number);
}

/** Four significant digits, large counts in thousands groups. */
export function shown(value: number): string {
  if (Math.abs(value) >= 10000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(4)));
}

/** What the interval of a verdict is that is taken batch by batch. */
const AT_ANY_LOOK = "95 % interval at any look";

/** How sure a verdict's value is, in words; "" where nothing says so. */
export function rangeOf(
  { constraint, value, interval, verdict, evidence }: ConstraintVerdict,
): string {
  if (interval === null || value === null) return "";
  // What is counted has no range.
  if (evidence === undefined && interval[0] === interval[1]) return "";
  if (evidence !== undefined && evidence.existing === evidence.samples) {
    return `exactly, of all ${evidence.samples} samples that exist`;
  }
  const [low, high] = interval.map((end) => shown(inLimitUnit(constraint, end)));
  // Another interval than that of a single comparison, wider: it holds however often one looks.
  const range = `${evidence === undefined ? "95 % interval" : AT_ANY_LOOK} ${low} to ${high}`;
  const decided_at = evidence?.decided_at ?? null;
  const used = predictorWords(evidence);
  if (decided_at === null || verdict === "undecided") return `${range}${used}`;
  return `${range}, decided after ${decided_at} samples${used}`;
}

/** After how many samples a verdict stood: those that it was decided by, or all that exist. */
export function restingOn({ verdict, evidence }: ConstraintVerdict): string {
  if (evidence === undefined || verdict === "undecided") return "";
  const { samples, existing, decided_at } = evidence;
  if (samples === existing) return `, exactly: all ${samples} samples that exist`;
  return `, decided after ${decided_at} of ${existing ?? "unknown"} samples, ${samples} read` +
    predictorWords(evidence);
}
