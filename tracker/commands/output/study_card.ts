import type { StudyOutputs } from "../../show/reports_of_study.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { deploymentLines, deploymentsOf } from "../../show/view/deployment.ts";
import { newestScorings } from "../../show/view/scored_again.ts";
import type { StudyCard } from "../../show/json/json_shapes.ts";
import { trialCard } from "./trial_card.ts";

/** Everything that a command says of a study; `outputs`: its report's files, where it wrote them. */
export function studyCard(view: StudyView, outputs: StudyOutputs | null = null): StudyCard {
  const { study_id, request, recommended, stop, message, front, front_note, reasons } = view;
  return {
    ...{ study_id, kind: request.kind, model_name: request.model_name, dataset: request.dataset },
    ...{ stop, message },
    ...{ front: [...front], front_note, recommended, reasons: [...reasons] },
    scored_again: newestScorings(view.scored_again).map((
      { task, scorer, scorer_version, beside_because, at },
    ) => ({ task, scorer, scorer_version, beside_because, at })),
    trials: view.trials.map(({ trial_id }) => trialCard(view, trial_id)),
    phases: view.phases.map(({ name, seconds }) => ({ name, seconds })),
    files: outputs === null ? null : [...outputs.files],
    checkpoint: outputs?.checkpoint ?? null,
    loader: outputs?.loader || null,
    runs_in: deploymentsOf(view, recommended ?? ""),
    run_lines: deploymentLines(view, recommended ?? "") || null,
  };
}
