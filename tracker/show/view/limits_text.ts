import { counted } from "./number_text.ts";
import type { StudyLimits } from "../../../core/mod.ts";
import { duration } from "./number_text.ts";

/** What ends a study that could go on, in words; null where nothing was said. */
export function limitsText(limits: StudyLimits): string | null {
  const { budget_seconds, gpu_hours, max_trials, max_full_evaluations } = limits;
  const { budget_joules, convergence_episodes, least_gain_per_hour } = limits;
  const words = [
    budget_seconds === undefined
      ? ""
      : `budget ${duration(budget_seconds)} from the baseline on, set-up not counted`,
    gpu_hours === undefined ? "" : `${gpu_hours} GPU hours`,
    budget_joules === undefined ? "" : `${budget_joules} J`,
    max_trials === undefined ? "" : counted(max_trials, "trial"),
    max_full_evaluations === undefined ? "" : `${max_full_evaluations} full evaluations`,
    convergence_episodes === undefined ? "" : `${convergence_episodes} episodes without a gain`,
    least_gain_per_hour === undefined
      ? ""
      : `a gain of ${Number((100 * least_gain_per_hour).toPrecision(3))} % an hour at least`,
  ].filter((word) => word !== "");
  return words.length === 0 ? null : words.join("; ");
}
