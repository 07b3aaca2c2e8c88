import { healthFindings } from "../evidence/health.ts";
import type { Evaluation } from "../ports.ts";
import type { Failure } from "../schemas/failure.ts";
import { endingOf } from "./draft.ts";
import { type Draft, type Ending, record, type Study } from "./study.ts";

/** A suspicious result is written down beside its trial; it decides nothing by itself. */
async function alert(
  study: Study,
  { trial }: Draft,
  finding: { condition: string; evidence: string; outcome: string },
): Promise<void> {
  const { study_id, trial_id } = trial;
  await record(study, { type: "alert", study_id, trial_id, ...finding, action: "recorded" });
}

/** Numbers that are none are not mended by what is added to them: it would hide where they come from. */
function endedBy(kind: Failure["kind"]): string {
  const more = kind === "not_a_number"
    ? "; nothing is added to such numbers, which would hide their cause"
    : "";
  return `the trial ended: ${kind}${more}`;
}

/** Alerts of an evaluation, beside the baseline's; `broken`: why the trial goes no further. */
export async function alertOfFindings(
  study: Study,
  draft: Draft,
  evaluation: Evaluation,
  { reference, broken }: { reference: Evaluation | undefined; broken: Failure | null },
): Promise<void> {
  const outcome = broken === null ? "the trial went on" : endedBy(broken.kind);
  for (const finding of healthFindings(study.spec, evaluation, reference ?? null)) {
    await alert(study, draft, { ...finding, outcome });
  }
}

/** The alert of a phase that ended as its numbers are none; there is no evaluation to look at. */
export async function alertOfNaN(study: Study, draft: Draft, { failure }: Ending): Promise<void> {
  if (failure?.kind !== "not_a_number") return;
  const { kind, message } = failure;
  const outcome = endedBy(kind);
  await alert(study, draft, { condition: kind, evidence: message, outcome });
}

/**
 * Tasks that could not be measured end the trial with their reasons; the figures of the others are
 * kept. Null: all were measured.
 */
export async function endOfRefused(
  study: Study,
  draft: Draft,
  { refused = [], protocol }: Evaluation,
  phase: string,
): Promise<Ending | null> {
  const [first] = refused;
  if (first === undefined) return null;
  const { trial_id, study_id } = draft.trial;
  for (const { task, message } of refused) {
    await record(study, {
      type: "alert",
      study_id,
      trial_id,
      condition: "task_refused",
      evidence: `${task}: ${message}`,
      action: "the other tasks were measured",
    });
  }
  const total = refused.length + Object.keys(protocol).length;
  const reasons = [...new Set(refused.map(({ message }) => message))].join("; ");
  const names = refused.map(({ task }) => task).join(", ");
  const failure: Failure = {
    kind: first.kind,
    message: `Cannot evaluate ${refused.length} of ${total} tasks (${names}): ${reasons}`,
    hint: first.hint,
    phase,
  };
  return endingOf(failure);
}
