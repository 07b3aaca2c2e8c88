import type { Facts } from "../schemas/facts.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { ScoredAgain } from "../schemas/scoring/scored.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { withAggregates } from "../evidence/quality.ts";
import { rewardOfTrial } from "./reward.ts";

/** What a scorer made of the answers of a trial on a rung. */
export interface NewFigures {
  readonly trial_id: string;
  readonly fidelity: string;
  readonly measurements: readonly Measurement[];
}

/** What a figure is of: of two alike the later one counts. */
function sameFigure(one: Measurement, other: Measurement): boolean {
  return one.metric === other.metric && one.task === other.task && one.slice === other.slice &&
    one.fidelity === other.fidelity && one.runtime === other.runtime;
}

/** A trial's figures with new ones in the place of those that they are alike. */
export function withFigures(
  before: readonly Measurement[],
  added: readonly Measurement[],
): Measurement[] {
  return [...before.filter((row) => !added.some((one) => sameFigure(row, one))), ...added];
}

/** The new figures of a task with those over all tasks that follow, where the trial had such. */
function withMeans(trial: Trial, added: readonly Measurement[], fidelity: string, spec: Spec) {
  const own = withFigures(trial.measurements, added).filter((row) => row.fidelity === fidelity);
  const tasks = own.filter(({ task }) => task !== null);
  const { measurements } = withAggregates({ measurements: tasks, samples: [], protocol: {} }, spec);
  const means = measurements.slice(tasks.length)
    .filter((mean) => own.some((row) => sameFigure(row, mean)));
  return [...added, ...means];
}

/** A study whose scores are made again. */
export interface StudyScoredAgain {
  readonly spec: Spec;
  readonly facts: Facts;
  /** With the newest scores so far. */
  readonly trials: readonly Trial[];
}

/**
 * What new scores of a task by one of its own scorers change: its figures, the means over all tasks and
 * every reward, of which each is over the baseline's. A verdict is of its moment and stays.
 */
export function countScores(
  { spec, facts, trials }: StudyScoredAgain,
  scored: readonly NewFigures[],
): Pick<ScoredAgain, "rewards"> & {
  trials: Pick<ScoredAgain["trials"][number], "measurements" | "replaced">[];
} {
  const now = new Map(trials.map((trial) => [trial.trial_id, trial]));
  const changed = scored.map(({ trial_id, fidelity, measurements }) => {
    const trial = now.get(trial_id);
    if (trial === undefined) return { measurements: [...measurements], replaced: [] };
    const added = withMeans(trial, measurements, fidelity, spec);
    const replaced = trial.measurements.filter((row) => added.some((one) => sameFigure(row, one)));
    now.set(trial_id, { ...trial, measurements: withFigures(trial.measurements, added) });
    return { measurements: added, replaced };
  });
  const all = [...now.values()];
  const baseline = all.find(({ strategy, state }) => strategy === null && state === "completed");
  const rewards = baseline === undefined ? [] : all.flatMap((trial) => {
    const reward = rewardOfTrial(trial, baseline, { spec, facts });
    return reward === null ? [] : [{ trial_id: trial.trial_id, reward }];
  });
  return { trials: changed, rewards };
}
