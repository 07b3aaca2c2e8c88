import { limitedTask } from "../metrics/metric_words.ts";
import { FULL, isDecisive } from "../schemas/fidelity.ts";
import type { Spec, TaskPlan } from "../schemas/spec.ts";
import type { ConstraintVerdict, Trial } from "../schemas/trial.ts";
import { samplesAt } from "../schemas/rungs.ts";

/** How many samples would decide a constraint. */
export interface SamplesToTake {
  readonly total: number;
  /** Of each task that the constraint is on; null: all that exist would not decide. */
  readonly by_task: Readonly<Record<string, number>> | null;
  /** All that exist of these tasks together; null: of some task nobody knows. */
  readonly existing: number | null;
}

interface Part {
  readonly task: string;
  readonly n: number;
  readonly weight: number;
  /** Infinity where nobody knows. */
  readonly existing: number;
}

/** Samples of a task that exist: as its data said, else all that a full evaluation of all took. */
function existingOf({ task, available_samples }: TaskPlan, n: number, spec: Spec): number {
  if (available_samples !== undefined) return available_samples;
  const planned = samplesAt(spec, FULL, task) ?? null;
  return planned === null || n < planned ? n : Infinity;
}

/** The tasks that a constraint is on, of a trial that was evaluated in full, with the samples taken. */
function partsOf({ constraint }: ConstraintVerdict, trial: Trial, spec: Spec): Part[] {
  const limited = limitedTask(constraint);
  const isOn = ({ task, primary }: TaskPlan) => limited === null ? primary : task === limited;
  return spec.tasks.filter(isOn).flatMap((plan) => {
    const row = trial.measurements.findLast(({ task, fidelity, slice }) =>
      task === plan.task && isDecisive(fidelity) && slice === null
    );
    if (row === undefined) return [];
    const { task, weight = 1 } = plan;
    return [{ task, n: row.n, weight, existing: existingOf(plan, row.n, spec) }];
  });
}

/**
 * Spreads the samples that would decide over the tasks, no task more than exist. The error of the
 * mean is √(Σ weight²·variance / n) / Σ weight; the tasks' variances are taken as alike. Tasks of
 * which all are taken leave their part of the error to the others. Null: nothing is undecided that
 * samples decide, or the trial was not evaluated in full.
 */
export function samplesToTake(
  verdict: ConstraintVerdict,
  trial: Trial,
  spec: Spec,
): SamplesToTake | null {
  const samples_to_decide = verdict.verdict === "undecided" ? verdict.samples_to_decide : null;
  const parts = partsOf(verdict, trial, spec);
  const n = parts.reduce((sum, part) => sum + part.n, 0);
  if (samples_to_decide === null || !isDecisive(trial.fidelity) || n === 0) return null;
  const all = parts.reduce((sum, part) => sum + part.existing, 0);
  const existing = Number.isFinite(all) ? all : null;
  // All that exist decide about the benchmark itself; old records ask about samples like these.
  const whole = verdict.evidence === undefined || existing === null
    ? null
    : parts.map((part) => part.existing);
  const counts = spread(parts, samples_to_decide / n) ?? whole;
  if (counts === null) return { total: samples_to_decide, by_task: null, existing };
  const total = counts.reduce((sum, count) => sum + count, 0);
  const by_task = Object.fromEntries(parts.map(({ task }, i) => [task, counts[i]!]));
  return { total, by_task, existing };
}

/** Counts that make the mean's variance `factor` times smaller; null: not even all samples do. */
function spread(parts: readonly Part[], factor: number): number[] | null {
  const error = ({ weight }: Part, n: number) => weight ** 2 / n;
  const wanted = parts.reduce((sum, part) => sum + error(part, part.n), 0) / factor;
  let open = [...parts];
  for (;;) {
    const taken = parts.filter((part) => !open.includes(part));
    const left = wanted - taken.reduce((sum, part) => sum + error(part, part.existing), 0);
    if (left <= 0 || open.length === 0) return null;
    const times = open.reduce((sum, part) => sum + error(part, part.n), 0) / left;
    const full = open.filter((part) => part.n * times > part.existing);
    if (full.length === 0) {
      return parts.map((part) =>
        open.includes(part) ? Math.ceil(part.n * Math.max(1, times) - 1e-9) : part.existing
      );
    }
    open = open.filter((part) => !full.includes(part));
  }
}
