import type { Facts } from "../schemas/facts.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { StopReason } from "../schemas/journal.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { whatNext } from "./advice.ts";
import { type Comparable, type ComparableStudy, comparableStudy } from "../front/comparable.ts";
import { SLACK } from "../evidence/slack.ts";
import { holdsOverStudy } from "../evidence/study_claims.ts";
import { frontOf, objectiveFigure } from "../front/objectives.ts";
import { whyChosen, whyKeep } from "./reasons.ts";
import { looksViolated, undecided, violations } from "./verdicts.ts";

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
  /** That, in a sentence. */
  readonly message?: string | undefined;
  /** What was asked for, so that advice can name its limits. */
  readonly request?: RunRequest;
  /** How many of the front's trials are listed. */
  readonly best?: number;
}

const NOTHING_TOLD =
  "Keep the original: it has no right answer itself on these samples, so they cannot tell what a " +
  "compression costs.";

function rewardOf({ reward }: Trial): number {
  return reward?.value ?? -Infinity;
}

/**
 * How doubtful it is that a trial meets the limits, the chosen one being the best of many. 0: at 5 % over
 * all trials of the study together; 1: at 5 % of this trial alone; 2: it is open.
 */
export function doubtOf(trial: Trial, trials: readonly Trial[]): number {
  if (undecided(trial).length > 0) return 2;
  return holdsOverStudy(trial, trials) ? 0 : 1;
}

/** What the recommendation is chosen among, whatever the weights are. */
export function choiceOf(study: ComparableStudy, { number }: Pick<Trial, "number">) {
  const { trials, spec } = study;
  const baseline = trials.find((trial) => trial.number === number)!;
  const compressed = trials.filter((trial) => trial.number !== number);
  const sound = compressed.filter((trial) =>
    violations(trial).length === 0 && !looksViolated(trial)
  );
  const front = frontOf({ trials: [baseline, ...sound], spec });
  // No right answer of the original's own: nothing tells what a compression costs.
  const tells_nothing = objectiveFigure(baseline, "accuracy", spec)?.value === 0;
  return { baseline, compressed, front, tells_nothing };
}

/**
 * Among the trials evaluated in full that violate nothing, not even by their estimates, the front
 * is taken again, baseline included; trials that meet every constraint come before those with one
 * undecided, those of which that holds over all trials looked at first; then the better reward. A trial that does not beat the baseline's reward is no reason
 * to change the model, unless the reward is equal and the baseline is dominated: weights that name
 * accuracy alone take the smaller of two equal ones. Nothing is where the baseline has no right answer.
 */
export function recommend(input: RecommendInput): Recommendation {
  const { trials, facts, best = 5 } = input;
  const known = trials.some(({ number }) => number === input.baseline.number);
  const study = comparableStudy(known ? trials : [input.baseline, ...trials], input.spec);
  const { spec } = study;
  const isBaseline = ({ number }: Trial) => number === input.baseline.number;
  const { baseline, compressed, front, tells_nothing } = choiceOf(study, input.baseline);
  const dominated = !front.members.some(({ trial }) => isBaseline(trial));
  const least = rewardOf(baseline) - (dominated ? SLACK : 0);
  const chosen = tells_nothing ? undefined : front.members.map(({ trial }) => trial)
    .filter((trial) => !isBaseline(trial) && rewardOf(trial) > least)
    .map((trial) => ({ trial, doubt: doubtOf(trial, compressed) }))
    .sort((a, b) => a.doubt - b.doubt)[0]?.trial;
  const full = compressed.filter(({ state, fidelity }) =>
    state === "completed" && isDecisive(fidelity)
  );
  return {
    trial_id: (chosen ?? baseline).trial_id,
    keep_original: chosen === undefined,
    reasons: tells_nothing ? [NOTHING_TOLD] : reasonsOf(chosen),
    best: frontOf({ trials: [baseline, ...compressed], spec }).members
      .map(({ trial }) => trial)
      .filter((trial) => !isBaseline(trial)).slice(0, best).map(({ trial_id }) => trial_id),
    next: whatNext({
      spec,
      facts,
      stop: input.stop,
      message: input.message,
      request: input.request,
      study_id: baseline.study_id,
      compressed,
      chosen: chosen ?? null,
      tells_nothing,
    }),
  };

  function reasonsOf(trial: Comparable | undefined): string[] {
    const about = { study, facts, baseline, compressed, full, front };
    return trial === undefined ? whyKeep(about) : whyChosen(trial, about);
  }
}
