import { healthFindings } from "../evidence/health.ts";
import type { Evaluation } from "../ports.ts";
import type { Failure } from "../schemas/failure.ts";
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

/** Alerts of an evaluation, beside the baseline's; `broken`: why the trial goes no further. */
export async function alertOfFindings(
  study: Study,
  draft: Draft,
  evaluation: Evaluation,
  { reference, broken }: { reference: Evaluation | undefined; broken: Failure | null },
): Promise<void> {
  const outcome = broken === null ? "the trial went on" : `the trial ended: ${broken.kind}`;
  for (const finding of healthFindings(study.spec, evaluation, reference ?? null)) {
    await alert(study, draft, { ...finding, outcome });
  }
}

/** The alert of a stage that ended as its numbers are none; there is no evaluation to look at. */
export async function alertOfNaN(study: Study, draft: Draft, { failure }: Ending): Promise<void> {
  if (failure?.kind !== "not_a_number") return;
  const { kind, message } = failure;
  const outcome = `the trial ended: ${kind}`;
  await alert(study, draft, { condition: kind, evidence: message, outcome });
}
