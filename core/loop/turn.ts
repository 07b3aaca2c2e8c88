import { earlierProposals } from "./earlier_trials.ts";
import type { Trial } from "../schemas/trial.ts";
import { finishHeld } from "./rungs/climb_rungs.ts";
import { closeEpisode, closeSearch } from "./end/close_study.ts";
import { apply, begin, evaluate, learn, measure } from "./episode.ts";
import { type Proposal, propose } from "./propose.ts";
import { cancelled, type Stop, stopNow } from "./stop.ts";
import type { Study } from "./study.ts";
import { timeAgain } from "./end/time_again.ts";
import { timeElsewhere } from "./end/time_elsewhere.ts";
import type { StudyResult } from "./study_input.ts";

/** One turn of the search: propose, apply, evaluate, learn. Its trial, or why there is no more. */
export async function takeTurn(study: Study): Promise<Trial | Stop> {
  const stop = stopNow(study);
  if (stop !== null) return stop;
  const proposal = await propose(study);
  if (typeof proposal === "string") return stopNow(study) ?? await nothingLeft(study, proposal);
  // A sampler that waits for something may have outlasted the study.
  const late = cancelled(study);
  if (late !== null) return late;
  return await runProposal(study, proposal);
}

/** One episode. */
export async function runProposal(study: Study, proposal: Proposal): Promise<Trial> {
  const draft = await begin(study, proposal);
  await apply(study, draft);
  await evaluate(study, draft);
  await measure(study, draft);
  return await learn(study, draft);
}

/** What a search leaves: trials that are held, those that a larger limit lets through, the result. */
export async function finishStudy(study: Study, stop: Stop): Promise<StudyResult> {
  await finishHeld(study, stop);
  for (const proposal of earlierProposals(study, stop)) await runProposal(study, proposal);
  await finishHeld(study, stop);
  await timeAgain(study, stop);
  await timeElsewhere(study, stop);
  return await closeSearch(study, stop);
}

/** The end of a search that found nothing more to run; what was refused last is told too. */
async function nothingLeft(study: Study, stop: "budget" | "exhausted"): Promise<Stop> {
  if (study.refused.length > 0) {
    await closeEpisode(study, { trial_id: null, sampler: "none", mode: "explore" });
  }
  return {
    stop,
    message: stop === "budget"
      ? "What is left of the budget is too short for another trial."
      : "The samplers have nothing left to try.",
  };
}
