import { weightsText } from "../spec/reward_weights.ts";
import type { Facts } from "../schemas/facts.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import {
  atContext,
  bytesText,
  inLimitUnit,
  limitUnit,
  limitWordsAt,
  metricWords,
} from "../metrics/metric_words.ts";
import { whatDecides } from "./advice.ts";
import { type Comparable, type ComparableStudy, objectivesSentence } from "../front/comparable.ts";
import { LEVEL } from "../evidence/sequence/verdict.ts";
import { claimsOverStudy } from "../evidence/study_claims.ts";
import { equalitySaid } from "../front/equal_latencies.ts";
import { besideOriginal, busyCores, ratioSides } from "../front/latency_ratio.ts";
import { type Front, objectiveFigure } from "../front/objectives.ts";
import { type Choice, passedOver } from "./passed_over.ts";
import { looksViolated, nameOf, rangeOf, shown, undecided, violations } from "./verdicts.ts";

/** What the reasons of a recommendation are drawn from. */
export interface ReasonsInput {
  readonly study: ComparableStudy;
  readonly facts: Facts;
  readonly baseline: Comparable;
  /** Every trial but the baseline. */
  readonly compressed: readonly Comparable[];
  /** Of those the ones evaluated in full. */
  readonly full: readonly Comparable[];
  /** Of those that violate nothing, not even by their estimates; the baseline among them. */
  readonly front: Front;
}

function frontSaid(study: ComparableStudy): string[] {
  const sentence = objectivesSentence(study);
  return sentence === null ? [] : [sentence];
}

function choiceOf({ study, front }: ReasonsInput, taken: Comparable): Choice {
  return { spec: study.spec, front, taken };
}

/** Why a trial is recommended, a sentence each. */
export function whyChosen(trial: Comparable, input: ReasonsInput): string[] {
  const { study, baseline, compressed } = input;
  const { spec } = study;
  const reasons = [
    `${nameOf(trial)} is on the front of the trials evaluated in full and violates no constraint.`,
    ...frontSaid(study),
  ];
  for (const { metric, unit } of spec.objectives) {
    const value = objectiveFigure(trial, metric, spec);
    const base = objectiveFigure(baseline, metric, spec);
    if (value === undefined || base === undefined) continue;
    reasons.push(
      `Its ${atContext(metricWords(metric), spec.context_tokens)} is ${
        figureText(value.value, unit)
      } against ${figureText(base.value, unit)} of the original${
        aside(trial, metric, value.value, input)
      }.`,
    );
  }
  for (const verdict of trial.constraints) {
    reasons.push(
      verdictSentence(verdict, trial, input),
      ...overStudy(verdict, trial, compressed),
    );
  }
  if (trial.reward !== null && baseline.reward !== null) {
    const unsure = undecided(trial).length > 0
      ? "; none that qualifies meets every constraint for sure"
      : "";
    reasons.push(
      `Its reward, ${trial.reward.value.toFixed(3)} against ${baseline.reward.value.toFixed(3)} ` +
        `of the original, is the best of those that qualify${unsure}.`,
    );
  }
  return [...reasons, ...equalSaid(trial), ...passedOver(compressed, choiceOf(input, trial))];
}

/** That noise in its latency decided nothing, where it would have. */
function equalSaid({ reward }: Comparable): string[] {
  const note = reward?.terms.find(({ term }) => term === "latency")?.note ?? null;
  const said = equalitySaid(note);
  return said === null ? [] : [`Its latency is ${said} in that reward.`];
}

/** What a figure beside the original's does not say. */
function aside(
  { latency, measurements }: Comparable,
  metric: string,
  value: number,
  { facts: { model }, study: { spec: { runtime } }, compressed }: ReasonsInput,
): string {
  if (metric === "size_bytes" && value > 0) {
    return ` (as 16-bit floats it would take ${bytesText(model.fp16_bytes)}, ` +
      `${(model.fp16_bytes / value).toFixed(2)} times as much)`;
  }
  if (metric !== "latency_ms" || latency === null) return "";
  const { ratio, interval, sessions, form } = latency;
  if (ratio === null || interval === null) return "";
  const several = sessions > 1 ? `, mean of the ${sessions} sessions that timed this form` : "";
  const timed = compressed.filter((trial) => trial.latency?.form === form);
  // One quiet session is enough: the others' noise is in the interval.
  const busy = Math.min(...timed.map(({ measurements }) => busyCores(measurements, runtime)));
  const beside = busy > 0 && timed.length > 0
    ? `, while other work took ${sessions > 1 ? "at least " : ""}${
      busy.toFixed(1)
    } cores; on a quiet machine it may differ`
    : "";
  const sides = ratioSides(measurements, runtime);
  return `: ${besideOriginal(shown(ratio), sides)}, taken in turn in the same minutes ` +
    `(95 % interval ${shown(interval[0])} to ${shown(interval[1])}${several}${beside})`;
}

function verdictSentence(
  verdict: ConstraintVerdict,
  trial: Comparable,
  { study: { spec } }: ReasonsInput,
): string {
  const { constraint, value, threshold } = verdict;
  const limit = `The limit on ${limitWordsAt(constraint, spec.context_tokens)}`;
  if (value === null) return `${limit} was not judged: it was not measured.`;
  const known = rangeOf(verdict);
  const range = known === "" ? "" : `, ${known}`;
  const more = verdict.verdict === "undecided" ? `: ${whatDecides(verdict, trial, spec)}` : "";
  const figure = (one: number) => shown(inLimitUnit(constraint, one));
  return `${limit} is ${verdict.verdict}: ${figure(value)} against ${figure(threshold)}${
    limitUnit(constraint)
  }${range}${more}.`;
}

/** What a "met" is worth beside the others that were looked at: the chosen trial is the best of many. */
function overStudy(
  { constraint, verdict, evidence }: ConstraintVerdict,
  { trial_id }: Comparable,
  compressed: readonly Comparable[],
): string[] {
  const claim = claimsOverStudy(compressed, constraint).get(trial_id);
  if (claim === undefined || verdict !== "met" || claim.trials < 2) return [];
  const judged = evidence === undefined ? "were measured" : "were judged by samples";
  const wrong = `${percent(claim.p)} of such studies would say so wrongly.`;
  return claim.p <= LEVEL
    ? [`That holds over all ${claim.trials} trials that ${judged}: at most ${wrong}`]
    : [
      `That is sure of this trial alone, and it is the best of ${claim.trials} that ${judged}: ` +
      `up to ${wrong}`,
    ];
}

function percent(share: number): string {
  return share < 0.001 ? "0.1 %" : `${Number((100 * share).toPrecision(2))} %`;
}

/** What trials violate, and which they are: `latency (t01, t03); size on disk (t02)`. */
function byConstraint(
  violating: readonly Comparable[],
  context_tokens: number | undefined,
): string {
  const broken = violating.map((trial) => violations(trial).map(({ constraint }) => constraint));
  return [...new Set(broken.flat())].map((constraint) => {
    const names = violating.filter((_, at) => broken[at]!.includes(constraint)).map(nameOf);
    return `${limitWordsAt(constraint, context_tokens)} (${names.join(", ")})`;
  }).join("; ");
}

/** Why no trial is recommended: each that was evaluated in full is counted once, by its reason. */
export function whyKeep(input: ReasonsInput): string[] {
  const { study, baseline, compressed, full, front } = input;
  if (full.length === 0) {
    return [
      "Keep the original: no compressed model was evaluated in full.",
      ...passedOver(compressed, choiceOf(input, baseline)),
    ];
  }
  const violating = full.filter((trial) => violations(trial).length > 0);
  const doubtful = full.filter((trial) => !violating.includes(trial) && looksViolated(trial));
  const isOn = (list: Front["members"]) => (trial: Comparable) =>
    list.some((one) => one.trial.trial_id === trial.trial_id);
  const dominated = full.filter(isOn(front.dominated));
  const poorer = full.filter(isOn(front.members));
  const left = full.flatMap((trial) => {
    const found = front.left_out.find(({ trial_id }) => trial_id === trial.trial_id);
    return found === undefined ? [] : [`${nameOf(trial)} (${found.reason})`];
  });
  const of = `of ${full.length} evaluated in full`;
  const sentences = [
    ...(violating.length === 0 ? [] : [
      `${violating.length} ${of} ${verb(violating, "violates", "violate")} a constraint: ` +
      `${byConstraint(violating, study.spec.context_tokens)}.`,
    ]),
    ...(doubtful.length === 0 ? [] : [
      `${doubtful.length} ${of} ${
        verb(doubtful, "is undecided", "are undecided")
      } with an estimate beyond the threshold: ` +
      `${doubtful.map(nameOf).join(", ")}.`,
    ]),
    ...(dominated.length === 0 ? [] : [
      `${dominated.length} ${of} ${
        verb(dominated, "violates none, and is dominated", "violate none, and are dominated")
      } by others: ` +
      `${dominated.map(nameOf).join(", ")}.`,
    ]),
    ...(poorer.length === 0 ? [] : [
      `${poorer.length} ${of} ${
        verb(poorer, "is on the front", "are on the front")
      }, with a reward that is not above the original's ` +
      `${baseline.reward?.value.toFixed(3) ?? "unknown one"} (weights: ` +
      `${weightsText(study.spec.reward_weights)}): ${poorer.map(nameOf).join(", ")}.`,
    ]),
    ...(left.length === 0 ? [] : [
      `${left.length} ${of} ${verb(left, "has no place", "have no place")} on the front: ${
        left.join("; ")
      }.`,
    ]),
  ];
  return [
    "Keep the original: none of the compressed models qualifies.",
    ...frontSaid(study),
    ...sentences,
    ...passedOver(compressed, choiceOf(input, baseline)),
  ];
}

/** A verb as the number of those that it is said of wants it. */
function verb(of: readonly unknown[], one: string, several: string): string {
  return of.length === 1 ? one : several;
}

/** A figure with its unit, as a sentence has it. */
function figureText(value: number, unit: string): string {
  if (unit === "bytes") return bytesText(value);
  return unit === "1" || unit === "" ? shown(value) : `${shown(value)} ${unit}`;
}
