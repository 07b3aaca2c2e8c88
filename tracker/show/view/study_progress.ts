import {
  type JournalRecord,
  type RunRequest,
  setWorkers,
  type StudyEvent,
  type Trial,
} from "../../../core/mod.ts";
import { duration } from "./number_text.ts";

/** How far a whole study is. */
export interface StudyProgress {
  /** Trials that are done, the baseline not counted. */
  readonly done: number;
  /** Trials that were asked for; null: as many as the budget lets. */
  readonly of: number | null;
  /** The trials that run, such as `t02`: more than one where they run side by side. */
  readonly running: readonly string[];
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

type Limits = Pick<RunRequest, "max_trials" | "budget_seconds" | "workers">;

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
  const running = new Map<string, { readonly is_baseline: boolean }>();
  let took = { seconds: 0, trials: 0 };
  const take = (record: JournalRecord, ran: boolean): void => {
    if (record.type === "trial_opened") {
      running.set(record.trial_id, { is_baseline: record.strategy === null });
    }
    if (record.type === "episode_closed") {
      running.delete(record.episode.trial_id ?? ""); // one that is held runs no more
      if (!ran) spent = record.episode.spent?.seconds ?? spent;
    }
    if (record.type !== "trial_closed") return;
    const { trial } = record;
    trials.set(trial.trial_id, trial);
    running.delete(trial.trial_id);
    if (!counts(trial)) return;
    const seconds = trial.spans.reduce((sum, span) => sum + span.seconds, 0);
    took = { seconds: took.seconds + seconds, trials: took.trials + 1 };
  };
  before.forEach((record) => take(record, false));
  running.clear();
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
        : Math.max(0, of - done) * took.seconds / took.trials / setWorkers(limits);
      const seconds = Math.min(left, rest);
      return {
        done,
        of,
        running: [...running.keys()].map((trial_id) => trial_id.split("/").at(-1)!),
        is_baseline: [...running.values()].some((one) => one.is_baseline),
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

/** `trial 2 of 5 (t02), about 3 min left`; side by side `trials 2 to 3 of 5 (t02, t03)`. */
export function progressText(progress: StudyProgress): string {
  const { done, of, running, is_baseline, seconds_left, at_most } = progress;
  const total = of === null ? "" : ` of ${of}`;
  const [next, last] = [done + 1, done + running.length];
  const trial = running.length === 0
    ? `${done}${total} ${done === 1 && of === null ? "trial" : "trials"} done`
    : is_baseline
    ? `the baseline, before ${of === null ? "the" : of} ${of === 1 ? "trial" : "trials"}`
    : `${next === last ? `trial ${next}` : `trials ${next} to ${last}`}${total} ` +
      `(${running.join(", ")})`;
  const left = seconds_left === null || seconds_left < 1
    ? ""
    : `, ${at_most ? "at most" : "about"} ${roughly(seconds_left)} left`;
  return trial + left;
}
