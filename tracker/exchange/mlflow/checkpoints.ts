import { join } from "node:path";
import {
  type Artifact,
  comparableStudy,
  frontOf,
  unknownName,
  UsageError,
} from "../../../core/mod.ts";
import type { CheckpointFile, Effect } from "./describe/effects.ts";
import type { KnownStudy } from "./describe/known_study.ts";

/** Whose checkpoints go to the server, besides their small files that go for every trial. */
export const CHECKPOINTS = ["front", "all", "none"] as const;
export type Checkpoints = (typeof CHECKPOINTS)[number];

/** @throws UsageError for a word that is none of them. */
export function parseCheckpoints(text: string, name: string): Checkpoints {
  const found = CHECKPOINTS.find((one) => one === text);
  if (found === undefined) throw new UsageError(unknownName(`value of ${name}`, text, CHECKPOINTS));
  return found;
}

/**
 * An artifact's files; those of a setting with its weights beside it, as its loader finds them, unless
 * these are an imported model's, which came from elsewhere and are nobody's to hand on.
 */
export function filesOf(study: KnownStudy, artifact: Artifact): CheckpointFile[] {
  const { files, location, weights_id } = artifact;
  const weights = weights_id === undefined ? undefined : study.artifacts.get(weights_id);
  const own = files.map(({ path }) => ({ path, file: join(location, path) }));
  const copied = weights === undefined || weights.parent_id === null ? [] : filesOf(study, weights);
  return [...own, ...copied];
}

/** The files of a trial's checkpoint, into its run; none where it has made no artifact. */
export function checkpointFiles(study: KnownStudy, trial_id: string): Effect[] {
  const artifact = study.trials.get(trial_id)?.artifact ?? null;
  if (artifact === null) return [];
  const manifest = { path: "manifest.json", file: join(artifact.location, "manifest.json") };
  return [manifest, ...filesOf(study, artifact)].map(({ path, file }) => ({
    to: { study_id: study.study_id, trial_id },
    kind: "file",
    path: `checkpoint/${path}`,
    file,
    optional: path === "manifest.json",
  }));
}

/**
 * The checkpoints on a study's front as it stands, without two that would lie there twice: the
 * baseline's, which came from elsewhere, and the recommended one's, which lies with its model.
 */
export function frontFiles(study: KnownStudy, recommended: string | null): Effect[] {
  if (study.opened === null) return [];
  return frontOf(comparableStudy([...study.closed.values()], study.opened.spec)).members
    .filter(({ trial }) => trial.strategy !== null && trial.trial_id !== recommended)
    .flatMap(({ trial }) => checkpointFiles(study, trial.trial_id));
}
