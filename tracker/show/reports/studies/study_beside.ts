import { metricOf, ratioOf } from "../../../../core/mod.ts";
import { originalRan } from "../../view/deployment.ts";
import type { StudyView } from "../../view/study_view.ts";
import type { TrialRow } from "../../view/trial_rows.ts";

/** A study among those that a report puts beside each other. */
export interface StudyBeside {
  readonly view: StudyView;
  /** Tasks with the hashes of what they asked in full; null: its baseline has none. */
  readonly protocol: string | null;
}

/** The studies that one key holds for; a key of null is of no group. */
export function groupsBy(
  studies: readonly StudyBeside[],
  key: (study: StudyBeside) => string | null,
): StudyBeside[][] {
  const groups = Map.groupBy(studies.filter((one) => key(one) !== null), key);
  return [...groups.values()].filter((group) => group.length > 1);
}

/** What tells one model from another; without a revision its name does: two of one shape need not be one. */
export function modelKey({ view: { facts: { model } } }: StudyBeside): string {
  const { source, model_name, architecture, parameters, original_bytes } = model;
  const revision = model.revision ?? ["named", model_name];
  return JSON.stringify([source, revision, architecture, parameters, original_bytes]);
}

/** What tells one dataset from another. */
export function dataKey({ view: { facts: { dataset } } }: StudyBeside): string {
  return JSON.stringify([dataset.kind, dataset.sha256 ?? dataset.dataset]);
}

/** Of one model, one set of samples and one version of each task: their quality may be compared. */
export function qualityKey(study: StudyBeside): string | null {
  const { protocol } = study;
  return protocol === null ? null : JSON.stringify([modelKey(study), dataKey(study), protocol]);
}

/** Of one machine, one runtime and one precision of the original: their latency and energy may be compared. */
export function speedKey({ view }: StudyBeside): string {
  const { facts: { device }, spec } = view;
  const { device_name, cores, platform, torch_version, torch_build, energy_reader } = device;
  return JSON.stringify([
    ...[device_name, cores, device.memory_gb, platform, torch_version, torch_build, energy_reader],
    originalRan(view) ?? spec.runtime,
  ]);
}

/** A study's id. */
export const idOf = ({ view }: StudyBeside): string => view.study_id;

/** A trial's quality: the mean score over tasks, else the perplexity. */
export const qualityOf = (row: TrialRow) => row.accuracy ?? row.perplexity;

/** Energy over the baseline's, both read while they decoded in turn; null: estimated, or not measured. */
export function energyOf({ view: { trials, spec } }: StudyBeside, row: TrialRow): number | null {
  const { ratio } = metricOf("energy_j_per_1k_tokens")!;
  const own = trials.find(({ trial_id }) => trial_id === row.trial_id);
  const baseline = trials.find(({ strategy, state }) => strategy === null && state === "completed");
  if (own === undefined) return null;
  if (row.baseline) return 1;
  return ratioOf(own.measurements, ratio!, spec.runtime, baseline?.measurements)?.value ?? null;
}
