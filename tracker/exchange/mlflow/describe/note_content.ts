import type { KnownStudy, StudyOpened } from "./known_study.ts";

function aboutStudy({ facts, spec, request }: StudyOpened): string[] {
  return [
    `**${facts.model.model_name}** on **${facts.dataset.dataset}**, runtime ${spec.runtime}, ` +
    facts.device.device_name,
    `Accuracy may drop ${spec.constraints.max_accuracy_drop}; seed ${request.seed}.`,
    ...spec.warnings.map((warning) => `- ${warning}`),
  ];
}

/** A run's description in Markdown: what it is, then the notes that were made, in order. */
export function noteContent(study: KnownStudy, trial_id: string | null): string {
  if (trial_id === null) {
    const about = study.opened === null ? [] : aboutStudy(study.opened);
    return [...about, ...study.notes].join("\n\n");
  }
  const trial = study.trials.get(trial_id);
  const about = trial?.number === 0
    ? "The uncompressed model: what trials are compared with"
    : trial?.strategy?.origin.reason;
  return [...(about === undefined ? [] : [about]), ...trial?.notes ?? []].join("\n\n");
}
