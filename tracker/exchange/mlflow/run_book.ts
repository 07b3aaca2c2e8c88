import { UsageError } from "../../../core/mod.ts";
import { type MlflowClient, quoted } from "./client/client.ts";
import type { Recipient } from "./describe/effects.ts";
import { MlflowError } from "./client/http.ts";
import type { KnownStudy } from "./describe/known_study.ts";
import { identityOf, newRunOf } from "./new_run.ts";
import type { Run } from "./client/answers.ts";

/** Where a run and its files are. */
export interface RunPlace {
  readonly run_id: string;
  readonly experiment_id: string;
  readonly artifact_uri: string;
}

/** Finds a study's runs on the server, and makes those that are missing, each once. */
export interface RunBook {
  /** The run of a trial, or of the study; made where there is none. */
  place(study: KnownStudy, to: Recipient): Promise<RunPlace>;
  /** Looks for a study's runs anew the next time. */
  forget(study_id: string): void;
}

function tagOf(run: Run, key: string): string | undefined {
  return run.data.tags.find((tag) => tag.key === key)?.value;
}

/**
 * Runs by the identity in their tags. A creation of which the answer was lost is found by the next
 * search; should two have been made, the first stays and the other is deleted.
 */
export function openRunBook(client: MlflowClient, experiment_name: string): RunBook {
  let experiment: Promise<string> | null = null;
  const studies = new Map<string, Map<string, RunPlace>>();

  const experimentId = async (): Promise<string> => {
    const found = await client.findExperiment(experiment_name);
    if (found === null) return await client.createExperiment(experiment_name);
    if (found.lifecycle_stage === "active") return found.experiment_id;
    throw new UsageError(
      `Cannot write into MLflow's experiment "${experiment_name}" as it is deleted: restore it, ` +
        `or name another in MLFLOW_EXPERIMENT_NAME`,
    );
  };

  const search = async (study_id: string, experiment_id: string) => {
    const study_identity = identityOf({ study_id, trial_id: null });
    const filter = `tags.\`pare.study_identity\` = ${quoted(study_identity)}`;
    const places = new Map<string, RunPlace>();
    for await (const run of client.runs([experiment_id], filter)) {
      const identity = tagOf(run, "pare.identity");
      if (identity === undefined) continue;
      if (places.has(identity)) await client.deleteRun(run.info.run_id);
      else places.set(identity, run.info);
    }
    return places;
  };

  const place = async (study: KnownStudy, to: Recipient): Promise<RunPlace> => {
    const { study_id } = study;
    const experiment_id = await (experiment ??= experimentId());
    const places = studies.get(study_id) ?? await search(study_id, experiment_id);
    studies.set(study_id, places);
    const known = places.get(identityOf(to));
    if (known !== undefined) return known;
    const parent = to.trial_id === null ? null : await place(study, { ...to, trial_id: null });
    const made = await client.createRun({
      experiment_id,
      ...newRunOf(study, to, parent?.run_id ?? null),
    });
    places.set(identityOf(to), made.info);
    return made.info;
  };

  const forget = (study_id: string) => {
    studies.delete(study_id);
    experiment = null;
  };

  return {
    forget,
    async place(study, to) {
      try {
        return await place(study, to);
      } catch (error) {
        forget(study.study_id); // it may have been made all the same: look again before the next try
        if (error instanceof MlflowError && error.code === "RESOURCE_ALREADY_EXISTS") {
          return await place(study, to);
        }
        throw error;
      }
    },
  };
}
