import { earlierProposals } from "./earlier_trials.ts";
import type { Trial } from "../schemas/trial.ts";
import { bringForward } from "./beside/same_prompts.ts";
import { estimateWhole, withinBeyond } from "./cost/budget.ts";
import { finishHeld, fullLimit } from "./rungs/climb_rungs.ts";
import { closeEpisode, closeSearch } from "./end/close_study.ts";
import { apply, begin, evaluate, learn, measure } from "./episode.ts";
import { type Proposal, propose } from "./propose.ts";
import { cancelled, type Stop, stopNow } from "./stop.ts";
import type { Draft, Study } from "./study.ts";
import { timeAgain } from "./end/time_again.ts";
import { timeElsewhere } from "./end/time_elsewhere.ts";
import type { StudyResult } from "./study_input.ts";

/** One turn of the search: propose, apply, evaluate, learn. Its trial, or why there is no more. */
export async function takeTurn(study: Study): Promise<Trial | Stop> {
  const next = await nextTrial(study, 0);
  return "stop" in next ? next : await finish(study, next);
}

/**
 * Turns until something ends the search, side by side as far as there are slots. What stops it is asked
 * again after each trial that was under way meanwhile: the reason that stands in the end counts.
 */
export async function search(study: Study): Promise<Stop> {
  let stop: Stop | null = null;
  await study.slots.fill(async (under_way) => {
    const next = await nextTrial(study, under_way);
    if (!("stop" in next)) return () => finish(study, next);
    stop = next;
    return null;
  });
  return stop!; // nothing is under way any more: the last answer was why
}

/** The next trial, opened; or why there is none while so many others are under way. */
async function nextTrial(study: Study, under_way: number): Promise<Draft | Stop> {
  const stop = stopNow(study);
  if (stop !== null) return stop;
  const comes = bringForward(study);
  if (!comes && under_way > 0) {
    return { stop: "exhausted", message: "What is left is being asked." };
  }
  const proposal = await propose(study);
  if (typeof proposal === "string") {
    return stopNow(study) ?? await nothingLeft(study, proposal, under_way);
  }
  // A sampler that waits for something may have outlasted the study.
  return cancelled(study) ?? await begin(study, proposal);
}

/** Episodes of these proposals, side by side as far as there are slots; null: it was cancelled before. */
export async function runProposals(
  study: Study,
  proposals: readonly Proposal[],
): Promise<(Trial | null)[]> {
  const trials = proposals.map((): Trial | null => null);
  let next = 0;
  await study.slots.fill(async () => {
    if (next === proposals.length || (next > 0 && cancelled(study) !== null)) return null;
    const at = next++;
    const draft = await begin(study, proposals[at]!);
    return async () => void (trials[at] = await finish(study, draft));
  });
  return trials;
}

async function finish(study: Study, draft: Draft): Promise<Trial> {
  const said = () => estimateWhole(study, draft.trial.actions);
  return await withinBeyond(study, said, async () => {
    await apply(study, draft);
    await evaluate(study, draft);
    await measure(study, draft);
    return await learn(study, draft);
  });
}

/** What a search leaves: trials that are held, those that a larger limit lets through, the result. */
export async function finishStudy(study: Study, stop: Stop): Promise<StudyResult> {
  await finishHeld(study, stop);
  const again = earlierProposals(study, stop);
  await study.slots.fill(async (under_way) => {
    // Each of those under way may take a full evaluation.
    if (under_way > 0 && study.fullEvaluations + under_way >= fullLimit(study)) return null;
    const { value: proposal } = again.next();
    if (proposal === undefined) return null;
    const draft = await begin(study, proposal);
    return () => finish(study, draft);
  });
  await finishHeld(study, stop);
  await timeAgain(study, stop);
  await timeElsewhere(study, stop);
  return await closeSearch(study, stop);
}

/** The end of a search that found nothing more to run; what was refused last is told too. */
async function nothingLeft(
  study: Study,
  stop: "budget" | "exhausted",
  under_way: number,
): Promise<Stop> {
  if (study.refused.length > 0 && under_way === 0) {
    await closeEpisode(study, { trial_id: null, sampler: "none", mode: "explore" });
  }
  return {
    stop,
    message: stop === "budget"
      ? "What is left of the budget is too short for another trial."
      : "The samplers have nothing left to try.",
  };
}
