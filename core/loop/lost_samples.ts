/** Samples of ended trials whose file is damaged or gone: given again, or what rests on them is undone. */
import { UsageError } from "../errors.ts";
import { overTasks } from "../evidence/quality.ts";
import { isOfAnswers } from "../metrics/metric_table.ts";
import type { Evaluation } from "../ports.ts";
import type { Failure } from "../schemas/failure.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Trial } from "../schemas/trial.ts";
import { strategyKey } from "../strategies/strategy_names.ts";
import { endingOf } from "./draft.ts";
import { record, type Study, withRung } from "./study.ts";
import type { LostEvaluation } from "./study_input.ts";

/** By which share a figure may differ that another number of threads computed. */
const SAME = 1e-4;

/** The figures of a trial's answers on a rung, as they were written down. */
export function answerFigures({ measurements }: Trial, fidelity: string): Measurement[] {
  return measurements.filter((row) =>
    row.fidelity === fidelity && (row.task !== null || isOfAnswers(row.metric))
  );
}

/** What came out otherwise than it is written down; null: nothing did. */
function differing(
  known: readonly Measurement[],
  { measurements, protocol }: Evaluation,
  lost: LostEvaluation,
): string | null {
  for (const { task, metric, value } of known) {
    if (task === null || overTasks(metric) === null) continue;
    const now = measurements.find((row) => row.task === task && row.metric === metric)?.value;
    const near = Math.abs((now ?? NaN) - value) <= SAME * Math.max(1, Math.abs(value));
    if (!near) return `${metric} of ${task} is ${now ?? "missing"} now, and was ${value}`;
    const before = lost.protocol[task];
    if (before !== undefined && before !== protocol[task]) {
      return `the protocol of ${task} is ${protocol[task] ?? "missing"} now, and was ${before}`;
    }
  }
  return null;
}

async function givenAgain(
  study: Study,
  trial: Trial,
  lost: LostEvaluation,
): Promise<{ evaluation: Evaluation } | { failure: Failure }> {
  const { trial_id, strategy, artifact_ids } = trial;
  const { fidelity } = lost;
  const artifact = strategy === null
    ? study.input.baseline
    : study.artifacts.get(artifact_ids.at(-1) ?? "");
  const failed = (message: string) =>
    ({ failure: { kind: "crash", message, hint: null, phase: fidelity } }) as const;
  if (artifact === undefined) return failed("its artifact is not known");
  const detail = "again, as its samples are lost";
  study.input.onEvent?.({ event: "phase", trial_id, phase: fidelity, detail, rung: true });
  const outcome = await study.ports.backend.evaluate(trial_id, artifact, fidelity);
  if (!outcome.ok) return { failure: outcome.failure };
  const measurements = answerFigures(trial, fidelity);
  const other = differing(measurements, outcome.value, lost);
  return other === null ? { evaluation: { ...outcome.value, measurements } } : failed(other);
}

/** Undoes a trial whose answers cannot be had again: nothing rests on it, and its recipe is free. */
async function undo(
  study: Study,
  trial: Trial,
  { fidelity, reason }: LostEvaluation,
  { message }: Failure,
): Promise<void> {
  const why = `its samples on ${fidelity} are lost (${reason}) and cannot be had again: ${message}`;
  const failure: Failure = {
    kind: "crash",
    message: `Cannot count ${trial.trial_id} as ${why}`,
    hint: "Its recipe may be tried again",
    phase: fidelity,
  };
  if (trial.strategy === null) {
    const { study_id } = study.input;
    throw new UsageError(
      `Cannot resume ${study_id} without its baseline: ${why}. Start a new study`,
    );
  }
  const closed = { ...trial, ...endingOf(failure), reward: null };
  study.trials.splice(study.trials.indexOf(trial), 1, closed);
  study.keys.delete(strategyKey(trial.actions));
  study.evaluations.delete(trial.trial_id);
  if (isDecisive(trial.fidelity)) study.fullEvaluations--;
  await record(study, { type: "trial_closed", trial: closed });
}

const told = (trial: Trial, evidence: string, outcome: string) => ({
  ...{ type: "alert" as const, study_id: trial.study_id, trial_id: trial.trial_id },
  ...{ condition: "lost_samples", evidence, action: "asked again", outcome },
});

/** Asks again for the answers of a study that is taken up whose samples cannot be read. */
export async function askLostAgain(study: Study, lost: readonly LostEvaluation[]): Promise<void> {
  for (const one of lost) {
    // Nothing rests on the others any more.
    const trial = study.trials.find(({ trial_id, state }) =>
      trial_id === one.trial_id && (state === "completed" || state === "stopped")
    );
    if (trial === undefined) continue;
    const again = await givenAgain(study, trial, one);
    if ("evaluation" in again) {
      const known = study.evaluations.get(trial.trial_id);
      study.evaluations.set(trial.trial_id, withRung(known, one.fidelity, again.evaluation));
      await record(study, told(trial, one.reason, "its figures are the same"));
      continue;
    }
    if (again.failure.kind === "cancelled") return; // the next resume asks
    await record(study, told(trial, one.reason, again.failure.message));
    await undo(study, trial, one, again.failure);
  }
}
