import { comparableStudy } from "../front/comparable.ts";
import { checkConstraints } from "../evidence/constraints.ts";
import { distanceGates } from "../distance/distance_gates.ts";
import { distanceRows } from "../distance/distance_rows.ts";
import { midwayGate, rungGate } from "../evidence/gates.ts";
import { isNotFinite, verificationGate } from "../evidence/verification_gate.ts";
import { protocolMismatch } from "../evidence/protocol.ts";
import { compareQuality, withAggregates } from "../evidence/quality.ts";
import { taskDrops } from "../evidence/task_limits.ts";
import { rewardOf } from "../front/reward.ts";
import type { Leaves } from "../contract/change.ts";
import { isDrawn, poweredGate, poweredQuality } from "../evidence/powered_quality.ts";
import { FULL, LIKELIHOOD_RUNG } from "../schemas/fidelity.ts";
import { higherRung, isLikelihoodRung } from "../schemas/rungs.ts";
import { DEFAULT_SAMPLING } from "../tasks/choose_samples.ts";
import { findMethod } from "../strategies/resolve_action.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { Artifact } from "../schemas/artifact.ts";
import type { Evaluation } from "../ports.ts";
import type { Failure } from "../schemas/failure.ts";
import type { ConstraintVerdict, GateDecision, Trial } from "../schemas/trial.ts";
import { readRung } from "./rungs/look_ahead.ts";
import { addMeasurements, callBackend, endingOf, hintOf, notANumber } from "./draft.ts";
import { alertOfFindings, alertOfNaN, endOfRefused } from "./health_alerts.ts";
import { sizesAtContext, trialSize, withContexts } from "./size.ts";
import {
  addGate,
  baselineOf,
  baselineOn,
  type Compared,
  type Draft,
  type Ending,
  isTimed,
  record,
  type Study,
  withRung,
} from "./study.ts";

/** Whether every action of a trial is applied. */
export function isWhole({ trial }: Draft): boolean {
  return trial.artifact_ids.length >= trial.actions.length;
}

/** The next action, found or made, and its gate; after the last one its size. Null: it passed. */
export async function applyNext(study: Study, draft: Draft): Promise<Ending | null> {
  const action = draft.trial.actions[draft.trial.artifact_ids.length];
  const ended = action === undefined ? null : await applyAction(study, draft, action);
  if (ended === null && isWhole(draft)) {
    const size = trialSize(draft.artifact, study.input);
    const { actions } = draft.trial;
    await addMeasurements(study, draft, [size, ...sizesAtContext(size, actions, study)]);
  }
  return ended;
}

async function applyAction(
  study: Study,
  draft: Draft,
  action: ResolvedAction,
): Promise<Ending | null> {
  const { trial_id, study_id, artifact_ids: { length: action_index } } = draft.trial;
  const applied = await callBackend(
    study,
    draft,
    "apply",
    action.method,
    () => study.ports.backend.apply(trial_id, draft.artifact, action, action_index),
  );
  if ("ending" in applied) return applied.ending;
  const leaves = leavesOf(study, draft, action);
  const changes = leaves.changes.map(({ form, ...change }) => ({
    ...change,
    form: form === null ? null : { ...form },
  }));
  const artifact = { ...applied.value.artifact, changes };
  const { cached } = applied.value;
  await record(study, { type: "artifact_written", study_id, trial_id, artifact, cached });
  study.artifacts.set(artifact.artifact_id, artifact);
  const gate = verificationGate(artifact);
  const { trial } = draft;
  draft.artifact = artifact;
  draft.model = artifact.model ?? leaves.model;
  draft.trial = {
    ...trial,
    artifact_ids: [...trial.artifact_ids, artifact.artifact_id],
  };
  addGate(draft, gate);
  if (gate.decision === "pass") return null;
  const kind = isNotFinite(artifact) ? "not_a_number" : "verification";
  return endingOf({ kind, message: gate.reason, hint: null, phase: "apply" });
}

/** What an action leaves of the model that it meets in this trial. */
function leavesOf(study: Study, { model }: Draft, action: ResolvedAction): Leaves {
  const { method } = findMethod(study.input.methods, action.agent, action.method);
  return method.leaves(action.params, { ...study.input.facts, model });
}

/** Quality on a rung, under the baseline's protocol or not at all. */
export async function evaluate(
  study: Study,
  draft: Draft,
  fidelity: string,
): Promise<Ending | null> {
  const { trial_id, strategy } = draft.trial;
  const reference = baselineOn(study, fidelity);
  const evaluated = await readRung(study, draft, fidelity, reference);
  if ("ending" in evaluated) {
    await alertOfNaN(study, draft, evaluated.ending);
    return evaluated.ending;
  }
  // A mean over what is left of the tasks would be taken for the mean over all.
  const whole = (evaluated.value.refused ?? []).length === 0;
  const evaluation = whole
    ? withContexts(withAggregates(evaluated.value, study.spec))
    : evaluated.value;
  await addMeasurements(study, draft, evaluation.measurements);
  const broken = notANumber(
    evaluation.measurements,
    fidelity,
    hintOf(study, draft.trial, "quality"),
  );
  await alertOfFindings(study, draft, evaluation, { reference, broken });
  const ended = broken === null
    ? await endOfRefused(study, draft, evaluation, fidelity)
    : endingOf(broken);
  if (ended !== null) return ended;
  if (strategy !== null) {
    const mismatch = reference === undefined
      ? `Cannot compare as the baseline has no ${fidelity} evaluation`
      : protocolMismatch(reference, evaluation);
    if (mismatch !== null) return endingOf(refusedComparison(mismatch, fidelity));
  }
  const reached = higherRung(study.spec, draft.trial.fidelity, fidelity);
  draft.trial = { ...draft.trial, fidelity: reached };
  const known = study.evaluations.get(trial_id);
  const kept = await withDistances(study, draft, evaluation, reference);
  study.evaluations.set(trial_id, withRung(known, fidelity, kept));
  return null;
}

/**
 * Adds how far the answers are from the baseline's, whose own are 0 from itself. Nothing where
 * nothing is held against a baseline: there is no other to be far from.
 */
async function withDistances(
  study: Study,
  draft: Draft,
  evaluation: Evaluation,
  reference: Evaluation | undefined,
): Promise<Evaluation> {
  if (!study.needs.baseline) return evaluation;
  const original = draft.trial.strategy === null ? evaluation : reference ?? evaluation;
  const rows = distanceRows(study.spec, original, evaluation);
  if (rows.length > 0) await addMeasurements(study, draft, rows);
  return { ...evaluation, measurements: [...evaluation.measurements, ...rows] };
}

function refusedComparison(message: string, phase: string): Failure {
  return {
    kind: "bad_input",
    message,
    hint: "Start a new study: data, task version or seed have changed since the baseline",
    phase,
  };
}

/** Quality on a rung and its gate: a quality that fell too far ends the trial there. */
export async function evaluateGated(
  study: Study,
  draft: Draft,
  fidelity: string,
): Promise<Ending | null> {
  const ended = await evaluate(study, draft, fidelity);
  if (ended !== null) return ended;
  const { spec, evaluations } = study;
  const rows = evaluations.get(draft.trial.trial_id)?.get(fidelity)?.measurements ?? [];
  const gates = [
    // Where nothing is timed afterwards, a stop would save nothing.
    ...(study.needs.timed
      ? [rungGate(spec, fidelity, comparison(study, draft.trial)?.quality ?? null)]
      : []),
    ...distanceGates(spec.gates ?? [], rows, fidelity),
    ...estimates(study, draft.trial, fidelity),
  ];
  for (const gate of gates) addGate(draft, gate);
  const passed = gates.every(({ decision }) => decision === "pass");
  return passed ? null : { state: "stopped", failure: null };
}

/** Where the likelihood of the original's answers is known of more samples: what that tells. */
function estimates(study: Study, { trial_id }: Trial, fidelity: string): GateDecision[] {
  const { spec, evaluations, input: { request } } = study;
  if (isLikelihoodRung(spec, fidelity) || !isDrawn(request.sampling ?? DEFAULT_SAMPLING)) return [];
  const on = (rung: string) => {
    const reference = baselineOn(study, rung);
    const other = evaluations.get(trial_id)?.get(rung);
    return reference === undefined || other === undefined ? null : { reference, other };
  };
  const [scored, likely] = [on(fidelity), on(LIKELIHOOD_RUNG)];
  if (scored === null || likely === null || !isLikelihoodRung(spec, LIKELIHOOD_RUNG)) return [];
  const found = poweredQuality(spec, scored, likely);
  return found === null ? [] : [poweredGate(spec, fidelity, found)];
}

/**
 * Quality in the midst of a chain, and its gate. Its figures are kept apart: those of the trial are
 * the finished model's.
 */
export async function evaluateMidway(
  study: Study,
  draft: Draft,
  fidelity: string,
): Promise<Ending | null> {
  const { trial: { trial_id, study_id, artifact_ids }, artifact } = draft;
  const action_index = artifact_ids.length - 1;
  const evaluated = await callBackend(
    study,
    draft,
    fidelity,
    artifact.artifact_id,
    () => study.ports.backend.evaluate(trial_id, artifact, fidelity, action_index),
  );
  if ("ending" in evaluated) return evaluated.ending;
  const refused = await endOfRefused(study, draft, evaluated.value, fidelity);
  if (refused !== null) return refused;
  const evaluation = withAggregates(evaluated.value, study.spec);
  const { measurements } = evaluation;
  const about = { study_id, trial_id, action_index, attempt: 1, artifact_id: artifact.artifact_id };
  await record(study, { type: "action_evaluated", ...about, measurements });
  const broken = notANumber(measurements, fidelity, hintOf(study, draft.trial, "quality"));
  if (broken !== null) return endingOf(broken);
  const reference = baselineOn(study, fidelity);
  const mismatch = reference === undefined
    ? `Cannot compare as the baseline has no ${fidelity} evaluation`
    : protocolMismatch(reference, evaluation);
  if (reference === undefined || mismatch !== null) {
    return endingOf(refusedComparison(mismatch ?? "", fidelity));
  }
  const gate = midwayGate(
    study.spec,
    fidelity,
    compareQuality(study.spec, fidelity, reference, evaluation, baselineOn(study, FULL)),
    winnerBack(study, draft),
  );
  addGate(draft, gate);
  return gate.decision === "pass" ? null : { state: "stopped", failure: null };
}

/** Which of the actions still to come trains what is left; null: none does. */
function winnerBack(study: Study, { trial: { actions, artifact_ids } }: Draft): string | null {
  const trains = actions.slice(artifact_ids.length).find(({ agent, method }) =>
    findMethod(study.input.methods, agent, method).method.order.effect === "trains"
  );
  return trains?.method ?? null;
}

/** Speed and memory, the baseline measured in turn; more memory than there may be is invalid. */
export async function measureSpeed(
  study: Study,
  draft: Draft,
  baseline: Artifact | null,
): Promise<Ending | null> {
  if (!isTimed(study)) return null;
  const { runtime } = study.spec;
  const measured = await callBackend(
    study,
    draft,
    "speed",
    runtime,
    (alone) => {
      const { trial, artifact } = draft;
      return study.ports.backend.speed(trial.trial_id, artifact, baseline, runtime, alone);
    },
  );
  if ("ending" in measured) {
    await alertOfNaN(study, draft, measured.ending);
    return measured.ending;
  }
  const { measurements, baseline_measurements } = measured.value;
  const interleaved = baseline_measurements.map((row) => ({
    ...row,
    metric: `baseline_${row.metric}`,
  }));
  const rows = [...measurements, ...interleaved];
  await addMeasurements(study, draft, rows);
  const broken = notANumber(rows, "speed", hintOf(study, draft.trial, "quality"));
  if (broken !== null) {
    const ending = endingOf(broken);
    await alertOfNaN(study, draft, ending);
    return ending;
  }
  const verdicts = checkConstraints(study.spec, study.input.facts, draft.trial.measurements, null);
  const memory = verdicts.find(({ constraint }) => constraint === "max_vram_gb");
  return draft.trial.strategy !== null && memory?.verdict === "violated"
    ? endingOf(overMemory(memory, hintOf(study, draft.trial, "memory")))
    : null;
}

function overMemory({ value, threshold }: ConstraintVerdict, hint: string | null): Failure {
  return {
    kind: "invalid",
    message: `Cannot use this model as its memory must not exceed ${threshold} GB: it took ` +
      `${value?.toFixed(2)} GB`,
    hint: `${hint ?? "Compress further"}, or begin a study with a larger --max-vram`,
    phase: "speed",
  };
}

function comparison(study: Study, trial: Trial): Compared | null {
  const { fidelity } = trial;
  if (fidelity === null) return null;
  const reference = baselineOn(study, fidelity);
  const own = study.evaluations.get(trial.trial_id)?.get(fidelity);
  if (reference === undefined || own === undefined) return null;
  const compared = [reference, own, baselineOn(study, FULL)] as const;
  const quality = compareQuality(study.spec, fidelity, ...compared);
  return quality === null ? null : { quality, tasks: taskDrops(study.spec, ...compared) };
}

/**
 * Constraints and reward on the highest rung reached; without an evaluation there is nothing to judge.
 * A trial that failed or is invalid has no reward: what it lacks would flatter it.
 */
export function judge(study: Study, draft: Draft, ending: Ending | null): void {
  const { trial } = draft;
  const baseline = baselineOf(study);
  const fidelity = trial.fidelity ?? draft.decided?.quality.fidelity ?? null;
  if (fidelity === null || baseline === undefined) return;
  const { spec, input: { facts } } = study;
  const { measurements } = trial;
  const { quality = null, tasks = [] } = draft.decided ?? comparison(study, trial) ?? {};
  const constraints = checkConstraints(
    ...[spec, facts, measurements, quality, tasks, baseline.measurements] as const,
  );
  const stopped = ending?.state === "stopped";
  // A look may end a trial that is unlikely to join the front: nothing of it is broken.
  const broken = ending !== null && !stopped && ending.state !== "completed";
  const reward = broken ? null : rewardOf({
    spec,
    facts,
    fidelity,
    baseline: baseline.measurements,
    measurements,
    constraints,
    stopped,
  });
  // Beside the trials before it: a form that was timed already shares its figure.
  const { trials } = comparableStudy([...study.trials, { ...trial, constraints, reward }], spec);
  const compared = trials.at(-1)!;
  draft.trial = { ...trial, constraints: compared.constraints, reward: compared.reward };
}
