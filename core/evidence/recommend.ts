import type { Facts } from "../schemas/facts.ts";
import type { StopReason } from "../schemas/journal.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict, Trial } from "../schemas/trial.ts";
import { isQuality } from "./constraints.ts";
import { frontOf, objectiveRow } from "./objectives.ts";

/** What a study advises, as sentences that a report prints. */
export interface Recommendation {
  /** The baseline's where the original should be kept. */
  readonly trial_id: string;
  readonly keep_original: boolean;
  readonly reasons: readonly string[];
  /** The best trials of the front, best reward first, the baseline left out. */
  readonly best: readonly string[];
  readonly next: readonly string[];
}

export interface RecommendInput {
  readonly spec: Spec;
  readonly facts: Facts;
  readonly baseline: Trial;
  readonly trials: readonly Trial[];
  readonly stop: StopReason;
  /** How many of the front's trials are listed. */
  readonly best?: number;
}

function violations(trial: Trial): ConstraintVerdict[] {
  return trial.constraints.filter((verdict) => verdict.verdict === "violated");
}

function undecided(trial: Trial): ConstraintVerdict[] {
  return trial.constraints.filter((verdict) => verdict.verdict !== "met");
}

/** Whether an undecided constraint looks violated: its estimate lies beyond the threshold. */
function looksViolated(trial: Trial): boolean {
  return undecided(trial).some(({ value, threshold }) => value !== null && value > threshold);
}

/** Whether the original has no right answer itself: then nothing tells what a compression costs. */
function tellsNothing({ spec, baseline }: RecommendInput): boolean {
  return objectiveRow(baseline.measurements, "accuracy", spec)?.value === 0;
}

/**
 * Among the trials evaluated in full that violate nothing, not even by their estimates, the front
 * is taken again, baseline included; trials that meet every constraint come before those with one
 * undecided, then the better reward. A trial that does not beat the baseline's reward is no reason
 * to change the model, and nothing is where the baseline has no right answer.
 */
export function recommend(input: RecommendInput): Recommendation {
  const { spec, baseline, trials, best = 5 } = input;
  const compressed = trials.filter((trial) => trial.number !== baseline.number);
  const sound = compressed.filter((trial) =>
    violations(trial).length === 0 && !looksViolated(trial)
  );
  const candidates = frontOf([baseline, ...sound], spec).members
    .map(({ trial }) => trial)
    .filter((trial) => trial.number !== baseline.number)
    .filter((trial) => (trial.reward?.value ?? -Infinity) > (baseline.reward?.value ?? -Infinity));
  candidates.sort((a, b) => Math.sign(undecided(a).length) - Math.sign(undecided(b).length));
  const chosen = tellsNothing(input) ? undefined : candidates[0];
  const listed = frontOf([baseline, ...compressed], spec).members.map(({ trial }) => trial)
    .filter((trial) => trial.number !== baseline.number).slice(0, best);
  return {
    trial_id: (chosen ?? baseline).trial_id,
    keep_original: chosen === undefined,
    reasons: chosen === undefined ? whyKeep(input, compressed) : whyChosen(chosen, input),
    best: listed.map((trial) => trial.trial_id),
    next: whatNext(input, compressed, chosen),
  };
}

function nameOf(trial: Trial): string {
  return trial.strategy?.strategy_id ?? "the original";
}

function whyChosen(trial: Trial, { spec, facts, baseline }: RecommendInput): string[] {
  const reasons = [
    `${nameOf(trial)} is on the front of the trials evaluated in full and violates no constraint.`,
  ];
  for (const objective of spec.objectives) {
    const value = objectiveRow(trial.measurements, objective.metric, spec);
    const base = objectiveRow(baseline.measurements, objective.metric, spec);
    if (value === undefined || base === undefined) continue;
    reasons.push(
      `Its ${objective.metric} is ${shown(value.value)} ${unitOf(objective.unit)}against ` +
        `${shown(base.value)} of the original${aside(objective.metric, value.value, facts)}.`,
    );
  }
  for (const verdict of trial.constraints) reasons.push(verdictSentence(verdict));
  if (trial.reward !== null && baseline.reward !== null) {
    reasons.push(
      `Its reward, ${trial.reward.value.toFixed(3)} against ${
        baseline.reward.value.toFixed(3)
      } of ` +
        "the original, is the best of those that qualify" +
        `${
          undecided(trial).length > 0 ? "; none that qualifies meets every constraint for sure" : ""
        }.`,
    );
  }
  return reasons;
}

function aside(metric: string, value: number, facts: Facts): string {
  if (metric !== "size_bytes" || value <= 0) return "";
  return ` (fp16 would take ${shown(facts.model.fp16_bytes)}, ` +
    `${(facts.model.fp16_bytes / value).toFixed(2)} times as much)`;
}

function verdictSentence(verdict: ConstraintVerdict): string {
  const { constraint, value, interval, threshold } = verdict;
  if (value === null) return `${constraint} was not measured.`;
  const range = interval === null
    ? ""
    : `, 95 % interval ${shown(interval[0])} to ${shown(interval[1])}`;
  const more = verdict.verdict !== "undecided"
    ? ""
    : verdict.samples_to_decide === null
    ? ": more measurements are needed to decide"
    : `: about ${verdict.samples_to_decide} samples would decide`;
  return `${constraint} is ${verdict.verdict}: ${shown(value)} against ${
    shown(threshold)
  }${range}${more}.`;
}

function whyKeep(input: RecommendInput, compressed: readonly Trial[]): string[] {
  const { spec, baseline } = input;
  if (tellsNothing(input)) {
    return [
      "Keep the original: it has no right answer itself on these samples, so they cannot tell what " +
      "a compression costs.",
    ];
  }
  const full = compressed.filter((trial) =>
    trial.state === "completed" && trial.fidelity === "full"
  );
  if (full.length === 0) {
    return ["Keep the original: no compressed model was evaluated in full."];
  }
  const violating = full.filter((trial) => violations(trial).length > 0);
  const doubtful = full.filter((trial) => !violating.includes(trial) && looksViolated(trial));
  const rest = full.length - violating.length - doubtful.length;
  const sentences = ["Keep the original: none of the compressed models qualifies."];
  if (violating.length > 0) {
    sentences.push(`${violating.length} of ${full.length} evaluated in full violate a constraint.`);
  }
  if (doubtful.length > 0) {
    sentences.push(
      `${doubtful.length} of ${full.length} are undecided with an estimate beyond the threshold: ` +
        `${doubtful.map(nameOf).join(", ")}.`,
    );
  }
  if (rest > 0) {
    const { accuracy, latency, memory, energy } = spec.reward_weights;
    sentences.push(
      `${rest} violate none, and are beaten on the front or by the original's reward of ` +
        `${baseline.reward?.value.toFixed(3) ?? "unknown"} (weights: accuracy ${accuracy}, ` +
        `latency ${latency}, memory ${memory}, energy ${energy}).`,
    );
  }
  return sentences;
}

function whatNext(
  input: RecommendInput,
  compressed: readonly Trial[],
  chosen: Trial | undefined,
): string[] {
  const { spec, facts, stop } = input;
  const next = tellsNothing(input)
    ? ["Measure on a dataset of which the original gets some answers right, or on more samples."]
    : [];
  const doubtful = [chosen, ...compressed.filter(looksViolated)].flatMap((trial) => {
    const open = trial?.constraints.find((verdict) => verdict.samples_to_decide !== null);
    return trial === undefined || open === undefined ? [] : [{ trial, open }];
  })[0];
  if (doubtful !== undefined) {
    const { open, trial } = doubtful;
    next.push(
      `Evaluate about ${open.samples_to_decide} samples to decide ${open.constraint} of ` +
        `${nameOf(trial)}.`,
    );
  }
  const near = nearestMiss(compressed);
  if (near !== null) next.push(near);
  const waiting = compressed.filter((trial) =>
    trial.state === "completed" && trial.fidelity === "proxy" && violations(trial).length === 0
  );
  if (waiting.length > 0) {
    next.push(
      `Raise max_full_evaluations or the budget: ${waiting.map(nameOf).join(", ")} ` +
        `${waiting.length === 1 ? "was" : "were"} evaluated on the proxy only.`,
    );
  }
  if (stop === "budget" || stop === "gpu_hours" || stop === "max_trials" || stop === "cancelled") {
    next.push(`Resume the study with a larger limit: it ended by ${stop}, not for lack of ideas.`);
  }
  const gpu = spec.methods.filter((verdict) => !verdict.supported && /GPU/.test(verdict.reason));
  if (gpu.length > 0 && facts.device.device === "cpu") {
    next.push(`Run on a GPU to try ${gpu.map((verdict) => verdict.method).join(", ")}.`);
  }
  return next;
}

/** Beyond so many thresholds a miss is no near one, and no advice follows from it. */
const NEAR = 3;

/** The violating trial closest to its quality threshold: what a looser threshold would allow. */
function nearestMiss(compressed: readonly Trial[]): string | null {
  const missed = compressed.flatMap((trial) => {
    const verdict = violations(trial).find(isQuality);
    const near = verdict !== undefined && verdict.value !== null &&
      verdict.value <= NEAR * verdict.threshold;
    return near ? [{ trial, verdict }] : [];
  }).sort((a, b) => a.verdict.value! - b.verdict.value!)[0];
  if (missed === undefined) return null;
  const { trial, verdict } = missed;
  return `Allow ${verdict.constraint} ${shown(verdict.value!)} instead of ` +
    `${shown(verdict.threshold)} to admit ${
      nameOf(trial)
    }, or try it with more bits or smaller groups.`;
}

function unitOf(unit: string): string {
  return unit === "1" || unit === "" ? "" : `${unit} `;
}

/** Four significant digits, large counts in thousands groups. */
function shown(value: number): string {
  if (Math.abs(value) >= 10000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(4)));
}
