import { openStudy } from "../../loop/open_study.ts";
import { ensureBaseline } from "../../loop/run_baseline.ts";
import type { StudyInput, StudyPorts, StudyResult } from "../../loop/study_input.ts";
import { finishStudy, search } from "../../loop/turn.ts";
import { SEARCH_NEEDS } from "./needs.ts";

/**
 * Runs a study to its end, or goes on with one: baseline, the user's strategies, seeds, then
 * episodes of the samplers until something stops it. Every step is in the journal before the next
 * begins. Throws on a user's mistake, before anything is written; what the machine does wrong ends
 * a trial, or the study under its reason.
 */
export async function runStudy(input: StudyInput, ports: StudyPorts): Promise<StudyResult> {
  const study = await openStudy(input, ports, SEARCH_NEEDS);
  return await finishStudy(study, await ensureBaseline(study) ?? await search(study));
}
