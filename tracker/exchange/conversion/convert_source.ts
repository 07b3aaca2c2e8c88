import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Artifact, UsageError } from "../../../core/mod.ts";
import { openArtifactStore } from "../../artifacts/artifact_store.ts";
import { findTrial } from "../../lab/find_study.ts";
import type { Home } from "../../ground/home.ts";
import { openStore } from "../../store/store.ts";
import { viewStudy } from "../../show/view/view_study.ts";

/** A written checkpoint that is converted, held until it is given back: no gc takes it meanwhile. */
export interface ConvertSource extends Disposable {
  /** Of what: a trial's id, or the folder that was named. */
  readonly name: string;
  readonly artifact_dir: string;
  /** Null: a folder that no store knows. */
  readonly artifact_id: string | null;
}

/** What a trial wrote last. `attempt`: what is wanted of it, for a refusal. */
export async function lastArtifact(
  home: Home,
  name: string,
  attempt: string,
): Promise<{ trial: string; of: Artifact }> {
  await using store = await openStore(home.store, { write: false });
  const { study_id, trial_id } = await findTrial(store, name);
  const view = await viewStudy(store, study_id);
  const trial = view.trials.find((one) => one.trial_id === trial_id);
  const artifact = view.artifacts.get(trial?.artifact_ids.at(-1) ?? "");
  if (artifact === undefined) {
    throw new UsageError(`Cannot ${attempt} ${trial_id} as it has written no checkpoint`);
  }
  return { trial: trial_id, of: artifact };
}

/** The checkpoint of a trial (`STUDY/t03`, `t03`), or the one in a folder. */
export async function convertSource(home: Home, name: string): Promise<ConvertSource> {
  if (existsSync(join(name, "config.json"))) {
    const artifact_dir = resolve(name);
    return { name: artifact_dir, artifact_dir, artifact_id: null, [Symbol.dispose]() {} };
  }
  if (!existsSync(home.store)) {
    throw new UsageError(
      `Cannot convert "${name}": it is no folder with a config.json, and the store ${home.store} ` +
        "does not exist",
    );
  }
  return await heldTrial(home, name, "convert");
}

/** The checkpoint of a trial; `attempt`: what is wanted of it, for a refusal. */
export async function heldTrial(
  home: Home,
  name: string,
  attempt: string,
): Promise<ConvertSource> {
  const { trial, of } = await lastArtifact(home, name, attempt);
  if (of.weights_id !== undefined) {
    throw new UsageError(
      `Cannot ${attempt} ${trial} as its last action is a setting, which no other library's files ` +
        `can say: take the trial of the weights it belongs to (artifact ${of.weights_id})`,
    );
  }
  const artifacts = await openArtifactStore(home.artifacts);
  const held = await artifacts.get(of.artifact_id);
  if (held === null) {
    artifacts.close();
    throw new UsageError(
      `Cannot ${attempt} ${trial} as its files are gone or changed (${of.location}): run its strategy ` +
        "again, which makes them anew",
    );
  }
  return {
    name: trial,
    artifact_dir: held.location,
    artifact_id: held.artifact_id,
    [Symbol.dispose]: () => artifacts.close(),
  };
}
