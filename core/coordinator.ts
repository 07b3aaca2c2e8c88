import { closeEpisode, closeStudy } from "./loop/close_study.ts";
import { earlierProposals } from "./resume/earlier_trials.ts";
import { apply, begin, evaluate, learn, measure } from "./loop/episode.ts";
import { finishHeld } from "./loop/climb_rungs.ts";
import { openStudy } from "./loop/open_study.ts";
import { type Proposal, propose } from "./loop/propose.ts";
import { ensureBaseline } from "./loop/run_baseline.ts";
import { cancelled, type Stop, stopNow } from "./loop/stop.ts";
import { type Study } from "./loop/study.ts";
import type { StudyInput, StudyPorts, StudyResult } from "./loop/study_input.ts";

/**
 * Runs a study to its end, or goes on with one: baseline, the user's strategies, seeds, then
 * episodes of the samplers until something stops it. Every step is in the journal before the next
 * begins. Throws on a user's mistake, before anything is written; what the machine does wrong ends
 * a trial, or the study under its reason.
 */
export async function runStudy(input: StudyInput, ports: StudyPorts): Promise<StudyResult> {
  const study = await openStudy(input, ports);
  const stop = await ensureBaseline(study) ?? await search(study);
  await finishHeld(study, stop);
  await finishEarlier(study, stop);
  return await closeStudy(study, stop);
}

/** Propose, apply, evaluate, learn: one episode a turn. */
async function search(study: Study): Promise<Stop> {
  for (;;) {
    const stop = stopNow(study);
    if (stop !== null) return stop;
    const proposal = await propose(study);
    if (typeof proposal === "string") {
      return stopNow(study) ?? await nothingLeft(study, proposal);
    }
    // A sampler that waits for something may have outlasted the study.
    const late = cancelled(study);
    if (late !== null) return late;
    await run(study, proposal);
  }
}

/** What earlier runs left on the proxy and a larger limit lets through now. */
async function finishEarlier(study: Study, stop: Stop): Promise<void> {
  for (const proposal of earlierProposals(study, stop)) await run(study, proposal);
  await finishHeld(study, stop);
}

/** One episode. */
async function run(study: Study, proposal: Proposal): Promise<void> {
  const draft = await begin(study, proposal);
  await apply(study, draft);
  await evaluate(study, draft);
  await measure(study, draft);
  await learn(study, draft);
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
