import type { JournalRecord, RunRequest, StudyEvent, Trial } from "../../../core/mod.ts";
import { duration } from "./number_text.ts";

/** How far a whole study is. */
export interface StudyProgress {
  /** Trials that are done, the baseline not counted. */
  readonly done: number;
  /** Trials that were asked for; null: as many as the budget lets. */
  readonly of: number | null;
  /** The trial that runs, such as `t02`; null: none does. */
  readonly running: string | null;
  readonly is_baseline: boolean;
  /** Seconds until its end, by what its trials took and by its budget; null: nobody can know yet. */
  readonly seconds_left: number | null;
  /** The budget alone says it: it may end before. */
  readonly at_most: boolean;
}

/** Whether a trial uses up one of those asked for. */
function counts({ strategy, state, artifact_ids }: Trial): boolean {
  return strategy !== null && state !== "cancelled" &&
    !(state === "invalid" && artifact_ids.length === 0);
}

type Limits = Pick<RunRequest, "max_trials" | "budget_seconds">;

/**
 * Follows a study by its events. `now` is in milliseconds; `before`: its records of earlier runs, of
 * which a study that goes on has some.
 */
export function followProgress(
  limits: Limits,
  now: () => number,
  before: readonly JournalRecord[] = [],
): { onEvent(event: StudyEvent): void; progress(): StudyProgress } {
  const trials = new Map<string, Trial>();
  const started = now();
  let spent = 0; // of the budget, by runs before this one
  let running: { trial_id: string; is_baseline: boolean } | null = null;
  let took = { seconds: 0, trials: 0 };
  const take = (record: JournalRecord, ran: boolean): void => {
    if (record.type === "trial_opened") {
      running = { trial_id: record.trial_id, is_baseline: record.strategy === null };
    }
    if (record.type === "episode_closed" && !ran) spent = record.episode.spent?.seconds ?? spent;
    if (record.type !== "trial_closed") return;
    const { trial } = record;
    trials.set(trial.trial_id, trial);
    if (running?.trial_id === trial.trial_id) running = null;
    if (!counts(trial)) return;
    const seconds = trial.spans.reduce((sum, span) => sum + span.seconds, 0);
    took = { seconds: took.seconds + seconds, trials: took.trials + 1 };
  };
  before.forEach((record) => take(record, false));
  running = null;
  return {
    onEvent(event) {
      if (event.event === "record") take(event.record, true);
    },
    progress() {
      const done = [...trials.values()].filter(counts).length;
      const of = limits.max_trials ?? null;
      const left = limits.budget_seconds === undefined
        ? Infinity
        : Math.max(0, limits.budget_seconds - spent - (now() - started) / 1000);
      const rest = of === null || took.trials === 0
        ? Infinity
        : Math.max(0, of - done) * took.seconds / took.trials;
      const seconds = Math.min(left, rest);
      return {
        done,
        of,
        running: running?.trial_id.split("/").at(-1) ?? null,
        is_baseline: running?.is_baseline ?? false,
        seconds_left: Number.isFinite(seconds) ? seconds : null,
        at_most: left < rest,
      };
    },
  };
}

/** Time that is left, as roughly as it is known. */
function roughly(seconds: number): string {
  if (seconds < 90) return `${Math.max(10, Math.round(seconds / 10) * 10)} s`;
  return seconds < 5400
    ? `${Math.round(seconds / 60)} min`
    : duration(Math.round(seconds / 600) * 600);
}

/** `trial 2 of 5 (t02), about 3 min left`. */
export function progressText(progress: StudyProgress): string {
  const { done, of, running, is_baseline, seconds_left, at_most } = progress;
  const total = of === null ? "" : ` of ${of}`;
  const trial = running === null
    ? `${done}${total} ${done === 1 && of === null ? "trial" : "trials"} done`
    : is_baseline
    ? `the baseline, before ${of === null ? "the" : of} ${of === 1 ? "trial" : "trials"}`
    : `trial ${done + 1}${total} (${running})`;
  const left = seconds_left === null || seconds_left < 1
    ? ""
    : `, ${at_most ? "at most" : "about"} ${roughly(seconds_left)} left`;
  return trial + left;
}
