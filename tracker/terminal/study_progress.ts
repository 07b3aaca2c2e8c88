import type { StudyEvent, StudyRequest } from "../../core/mod.ts";
import { duration } from "../view/number_text.ts";

/** Trials whose time says what the next ones take: the last few, as a search goes on it changes. */
const RECENT = 5;

/** Left of the whole study, in seconds: what the trials still to come take, at most its budget. */
function secondsLeft(
  { max_trials, budget_seconds }: Pick<StudyRequest, "max_trials" | "budget_seconds">,
  { number, took, spent }: { number: number; took: readonly number[]; spent: number },
): number | null {
  const recent = took.slice(-RECENT);
  const mean = recent.reduce((sum, seconds) => sum + seconds, 0) / recent.length;
  const known = max_trials !== undefined && number <= max_trials && recent.length > 0;
  const byTrials = known ? mean * (max_trials - number + 1) : Infinity;
  const byBudget = budget_seconds === undefined ? Infinity : Math.max(0, budget_seconds - spent);
  const left = Math.min(byTrials, byBudget);
  return Number.isFinite(left) ? left : null;
}

/** Time that is left, as roughly as it is known. */
function roughly(seconds: number): string {
  if (seconds < 90) return `about ${Math.max(10, Math.round(seconds / 10) * 10)} s left`;
  return seconds < 5400
    ? `about ${Math.round(seconds / 60)} min left`
    : `about ${duration(Math.round(seconds / 600) * 600)} left`;
}

/**
 * Says of each trial that begins which one it is and how long the study may still take:
 * `trial 2 of 5, about 6 min left`. Null: the event is another. The baseline is said without a number.
 */
export function studyProgress(request: Pick<StudyRequest, "max_trials" | "budget_seconds">) {
  const took: number[] = [];
  let began: number | null = null;
  return (event: StudyEvent): string | null => {
    if (event.event !== "record") return null;
    const { record } = event;
    if (record.type === "trial_closed" && record.trial.finished_at !== null) {
      const { started_at, finished_at, strategy, state } = record.trial;
      const seconds = (Date.parse(finished_at) - Date.parse(started_at)) / 1000;
      if (strategy !== null && state !== "cancelled") took.push(seconds);
    }
    if (record.type !== "trial_opened") return null;
    const at = Date.parse(record.at);
    began ??= at;
    if (record.strategy === null) return "the original, measured first";
    const { max_trials } = request;
    const { number } = record;
    const of = max_trials === undefined || number > max_trials ? "" : ` of ${max_trials}`;
    const left = secondsLeft(request, { number, took, spent: (at - began) / 1000 });
    return `trial ${number}${of}${left === null ? "" : `, ${roughly(left)}`}`;
  };
}
