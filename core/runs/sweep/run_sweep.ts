import { closeSearch } from "../../loop/end/close_study.ts";
import { openStudy } from "../../loop/open_study.ts";
import { ensureBaseline } from "../../loop/run_baseline.ts";
import type { StudyInput, StudyPorts, StudyResult } from "../../loop/study_input.ts";
import { search } from "../../loop/turn.ts";
import { cellsOf } from "./cells.ts";
import { SWEEP_NEEDS } from "./needs.ts";
import type { SweepPlan } from "./plan.ts";

/**
 * Runs every cell of a sweep, or goes on with the rest: baseline, then one trial a cell, on all samples.
 * Cells of the same weights share the reading of each prompt.
 */
export async function runSweep(
  input: StudyInput,
  plan: SweepPlan,
  ports: StudyPorts,
): Promise<StudyResult> {
  const { methods, facts } = input;
  const cells = cellsOf(plan, methods, facts);
  // What its plan names is all that is tried.
  const study = await openStudy({ ...input, samplers: [] }, ports, SWEEP_NEEDS);
  study.queue.splice(0, Infinity, ...cells.map((actions) => ({ actions, origin: ORIGIN })));
  study.refused.splice(0);
  const stop = await ensureBaseline(study) ?? await search(study);
  const whole = stop.stop === "exhausted"
    ? { stop: "end_of_plan" as const, message: `All ${cells.length} cells of the sweep are run.` }
    : stop;
  return await closeSearch(study, whole);
}

const ORIGIN = { sampler: "sweep", mode: "user", reason: "a cell of the sweep" } as const;
