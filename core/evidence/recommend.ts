import type { Facts } from "../schemas/facts.ts";
import type { StopReason } from "../schemas/journal.ts";
import type { StudyRequest } from "../schemas/request.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict, Trial } from "../schemas/trial.ts";
import { whatDecides, whatNext } from "./advice.ts";
import { frontOf, objectiveRow } from "./objectives.ts";
import { looksViolated, nameOf, shown, undecided, violations } from "./verdicts.ts";

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
  /** What was asked for, so that advice can name its limits. */
  readonly request?: StudyRequest;
  /** How many of the front's trials are listed. */
  readonly best?: number;
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
    next: whatNext({
      spec,
      facts: input.facts,
      stop: input.stop,
      request: input.request,
      study_id: baseline.study_id,
      compressed,
      chosen: chosen ?? null,
      tells_nothing: tellsNothing(input),
    }),
  };
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
  for (const verdict of trial.constraints) reasons.push(verdictSentence(verdict, trial, spec));
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

function verdictSentence(verdict: ConstraintVerdict, trial: Trial, spec: Spec): string {
  const { constraint, value, interval, threshold } = verdict;
  if (value === null) return `${constraint} was not measured.`;
  const range = interval === null
    ? ""
    : `, 95 % interval ${shown(interval[0])} to ${shown(interval[1])}`;
  const more = verdict.verdict === "undecided" ? `: ${whatDecides(verdict, trial, spec)}` : "";
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
    const { accuracy, latency, memory, energy, co2 = 0 } = spec.reward_weights;
    sentences.push(
      `${rest} violate none, and are beaten on the front or by the original's reward of ` +
        `${baseline.reward?.value.toFixed(3) ?? "unknown"} (weights: accuracy ${accuracy}, ` +
        `latency ${latency}, memory ${memory}, energy ${energy}${co2 > 0 ? `, CO2 ${co2}` : ""}).`,
    );
  }
  return sentences;
}

function unitOf(unit: string): string {
  return unit === "1" || unit === "" ? "" : `${unit} `;
}
