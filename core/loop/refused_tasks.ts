import type { Evaluation } from "../ports.ts";
import type { Failure } from "../schemas/failure.ts";
import { endingOf } from "./draft.ts";
import { type Draft, type Ending, record, type Study } from "./study.ts";

/**
 * Tasks that could not be measured end the trial with their reasons; the figures of the others are
 * kept. Null: all were measured.
 */
export async function endOfRefused(
  study: Study,
  draft: Draft,
  { refused = [], protocol }: Evaluation,
  stage: string,
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
    stage,
  };
  return endingOf(failure);
}
