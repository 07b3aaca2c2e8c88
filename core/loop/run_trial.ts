import { comparableStudy } from "../front/comparable.ts";
import { checkConstraints } from "../evidence/constraints.ts";
import { proxyGate } from "../evidence/gates.ts";
import { isNotFinite, verificationGate } from "../evidence/verification_gate.ts";
import { protocolMismatch } from "../evidence/protocol.ts";
import { compareQuality, withAggregates } from "../evidence/quality.ts";
import { rewardOf } from "../front/reward.ts";
import type { Leaves } from "../contract/plugin.ts";
import { findMethod } from "../strategies/resolve_action.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { Artifact } from "../schemas/artifact.ts";
import type { Failure } from "../schemas/failure.ts";
import type { ConstraintVerdict, Trial } from "../schemas/trial.ts";
import {
  addMeasurements,
  callBackend,
  type Ending,
  endingOf,
  hintOf,
  notANumber,
} from "./draft.ts";
import { alertOfFindings, alertOfNaN } from "./health_alerts.ts";
import { endOfRefused } from "./refused_tasks.ts";
import { trialSize } from "./size.ts";
import { baselineOf, type Draft, record, type Study } from "./study.ts";
import { fidelitiesOf } from "./study_input.ts";

/** Each action in order, found or made; a gate after each. Null: all passed. */
export async function applyActions(study: Study, draft: Draft): Promise<Ending | null> {
  for (const action of draft.trial.actions) {
    const ended = await applyAction(study, draft, action);
    if (ended !== null) return ended;
  }
  await addMeasurements(study, draft, [trialSize(draft.artifact, study.input)]);
  return null;
}

async function applyAction(
  study: Study,
  draft: Draft,
  action: ResolvedAction,
): Promise<Ending | null> {
  const { trial_id, study_id } = draft.trial;
  const applied = await callBackend(
    study,
    draft,
    "apply",
    action.method,
    () => study.ports.backend.apply(trial_id, draft.artifact, action),
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
  const gate = verificationGate(artifact);
  const { trial } = draft;
  draft.artifact = artifact;
  draft.model = artifact.model ?? leaves.model;
  draft.trial = {
    ...trial,
    artifact_ids: [...trial.artifact_ids, artifact.artifact_id],
    gates: [...trial.gates, gate],
  };
  if (gate.decision === "pass") return null;
  const kind = isNotFinite(artifact) ? "not_a_number" : "verification";
  return endingOf({ kind, message: gate.reason, hint: null, stage: "apply" });
}

/** What an action leaves of the model that it meets in this trial. */
function leavesOf(study: Study, { model }: Draft, action: ResolvedAction): Leaves {
  const { method } = findMethod(study.input.methods, action.agent, action.method);
  return method.leaves(action.params, { ...study.input.facts, model });
}

/** Quality at a fidelity, under the baseline's protocol or not at all. */
export async function evaluate(
  study: Study,
  draft: Draft,
  fidelity: "proxy" | "full",
): Promise<Ending | null> {
  const { trial_id, strategy } = draft.trial;
  const evaluated = await callBackend(
    study,
    draft,
    fidelity,
    draft.artifact.artifact_id,
    () => study.ports.backend.evaluate(trial_id, draft.artifact, fidelity),
  );
  if ("ending" in evaluated) {
    await alertOfNaN(study, draft, evaluated.ending);
    return evaluated.ending;
  }
  // A mean over what is left of the tasks would be taken for the mean over all.
  const whole = (evaluated.value.refused ?? []).length === 0;
  const evaluation = whole ? withAggregates(evaluated.value, study.spec) : evaluated.value;
  await addMeasurements(study, draft, evaluation.measurements);
  const broken = notANumber(
    evaluation.measurements,
    fidelity,
    hintOf(study, draft.trial, "quality"),
  );
  const reference = baselineEvaluation(study, fidelity);
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
  draft.trial = { ...draft.trial, fidelity };
  const known = study.evaluations.get(trial_id) ?? {};
  study.evaluations.set(trial_id, { ...known, [fidelity]: evaluation });
  return null;
}

function refusedComparison(message: string, stage: string): Failure {
  return {
    kind: "bad_input",
    message,
    hint: "Start a new study: data, task version or seed have changed since the baseline",
    stage,
  };
}

function baselineEvaluation(study: Study, fidelity: "proxy" | "full") {
  const baseline = baselineOf(study);
  return baseline === undefined ? undefined : study.evaluations.get(baseline.trial_id)?.[fidelity];
}

/**
 * A trial's first evaluation and its gate: a quality that fell too far ends the trial there. It is
 * the proxy, unless the study asks for full evaluations alone.
 */
export async function evaluateFirst(study: Study, draft: Draft): Promise<Ending | null> {
  const [first] = fidelitiesOf(study.input.request);
  const ended = await evaluate(study, draft, first);
  if (ended !== null) return ended;
  const gate = proxyGate(study.spec, comparison(study, draft.trial));
  draft.trial = { ...draft.trial, gates: [...draft.trial.gates, gate] };
  return gate.decision === "pass" ? null : { state: "stopped", failure: null };
}

/** Speed and memory, the baseline measured in turn; more memory than there may be is invalid. */
export async function measureSpeed(
  study: Study,
  draft: Draft,
  baseline: Artifact | null,
): Promise<Ending | null> {
  const { runtime } = study.spec;
  const measured = await callBackend(
    study,
    draft,
    "speed",
    runtime,
    () => study.ports.backend.speed(draft.trial.trial_id, draft.artifact, baseline),
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
    stage: "speed",
  };
}

function comparison(study: Study, trial: Trial) {
  const { fidelity } = trial;
  if (fidelity === null) return null;
  const reference = baselineEvaluation(study, fidelity);
  const own = study.evaluations.get(trial.trial_id)?.[fidelity];
  if (reference === undefined || own === undefined) return null;
  return compareQuality(study.spec, fidelity, reference, own);
}

/**
 * Constraints and reward at the fidelity reached; without an evaluation there is nothing to judge.
 * A trial that failed or is invalid has no reward: what it lacks would flatter it.
 */
export function judge(study: Study, draft: Draft, ending: Ending | null): void {
  const { trial } = draft;
  const baseline = baselineOf(study);
  if (trial.fidelity === null || baseline === undefined) return;
  const { spec, input: { facts } } = study;
  const { fidelity, measurements } = trial;
  const constraints = checkConstraints(spec, facts, measurements, comparison(study, trial));
  const stopped = ending?.state === "stopped";
  const reward = ending !== null && !stopped ? null : rewardOf({
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
