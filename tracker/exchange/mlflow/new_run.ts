import { userInfo } from "node:os";
import { recipeName } from "../../../core/mod.ts";
import { type Recipient, tags } from "./describe/effects.ts";
import type { KnownStudy } from "./describe/known_study.ts";

/** A text as a search finds it: no quotation mark, which MLflow cannot escape. */
export function identityOf({ study_id, trial_id }: Recipient): string {
  const part = (text: string) => encodeURIComponent(text).replaceAll("'", "%27");
  return trial_id === null ? part(study_id) : `${part(study_id)}:${part(trial_id)}`;
}

function userName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null; // a user without an entry, as in some containers
  }
}

/** The run that a study or trial begins with; its identity stands in the same request. */
export function newRunOf(study: KnownStudy, to: Recipient, parent_run_id: string | null) {
  const trial = to.trial_id === null ? undefined : study.trials.get(to.trial_id);
  const { opened } = study;
  const command = opened?.provenance.command ?? "pare";
  const short = to.trial_id?.startsWith(`${study.study_id}/`)
    ? to.trial_id.slice(study.study_id.length + 1)
    : to.trial_id;
  const strategy_id = trial?.strategy?.strategy_id;
  const made = strategy_id === undefined ? undefined : recipeName(strategy_id);
  const recipe = trial?.number === 0 ? "baseline" : made;
  const run_name = to.trial_id === null
    ? study.study_id
    : [short, recipe].filter((word) => word !== undefined).join(" ");
  return {
    run_name,
    start_time: Date.parse(trial?.started_at ?? opened?.at ?? study.first_at),
    tags: tags({
      "pare.identity": identityOf(to),
      "pare.study_identity": identityOf({ ...to, trial_id: null }),
      "pare.study_id": study.study_id,
      "pare.trial_id": to.trial_id,
      "pare.kind": to.trial_id === null ? "study" : trial?.number === 0 ? "baseline" : "trial",
      "mlflow.parentRunId": parent_run_id,
      "mlflow.runName": run_name,
      "mlflow.user": userName(),
      "mlflow.source.name": command,
      "mlflow.source.type": command === "notebook" ? "NOTEBOOK" : "LOCAL",
      "mlflow.source.git.commit": opened?.provenance.code_commit,
    }),
  };
}
