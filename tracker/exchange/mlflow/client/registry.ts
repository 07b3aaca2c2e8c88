import { type Caller, MlflowError } from "./http.ts";
import {
  Anything,
  type LoggedModel,
  LoggedModelAnswer,
  LoggedModelsFound,
  type ModelVersion,
  ModelVersionAnswer,
  ModelVersionsFound,
} from "./answers.ts";

const API = "api/2.0/mlflow";

export interface NewLoggedModel {
  readonly experiment_id: string;
  readonly name: string;
  readonly model_type: string;
  readonly source_run_id: string;
  readonly params: readonly { key: string; value: string }[];
  readonly tags: readonly { key: string; value: string }[];
}

export interface NewVersion {
  readonly name: string;
  readonly source: string;
  readonly run_id: string;
  readonly model_id: string;
  readonly description: string;
  readonly tags: readonly { key: string; value: string }[];
}

/** A name that the registry takes: it refuses `/` and `:`. */
export function registeredName(text: string): string {
  return text.replaceAll(/[/:\\%"']+/g, "-").replaceAll(/^[-.\s]+|[-.\s]+$/g, "").slice(0, 250) ||
    "model";
}

/** Logged models, and the registry with its aliases. */
export function registryCalls(call: Caller) {
  const post = (path: string, value: unknown) => ({
    method: "post" as const,
    path: `${API}/${path}`,
    body: JSON.stringify(value),
  });
  return {
    /** Logged models of an experiment that a filter in MLflow's own words finds. */
    findLoggedModels: async (experiment_id: string, filter: string): Promise<LoggedModel[]> => {
      const asked = { experiment_ids: [experiment_id], filter, max_results: 50 };
      const answer = LoggedModelsFound;
      return (await call({ ...post("logged-models/search", asked), answer })).models;
    },

    createLoggedModel: async (model: NewLoggedModel): Promise<LoggedModel> => {
      const answer = LoggedModelAnswer;
      return (await call({ ...post("logged-models", model), answer, creates: true })).model;
    },

    /** A logged model stays pending until it is said to be whole. */
    readyLoggedModel: (model_id: string) =>
      call({
        method: "patch",
        path: `${API}/logged-models/${encodeURIComponent(model_id)}`,
        body: JSON.stringify({ model_id, status: "LOGGED_MODEL_READY" }),
        answer: Anything,
      }),

    /** Makes a registered model; that there is one already is fine. */
    ensureRegisteredModel: async (name: string, description: string): Promise<void> => {
      try {
        const body = { name, description };
        await call({ ...post("registered-models/create", body), answer: Anything, creates: true });
      } catch (error) {
        if (error instanceof MlflowError && error.code === "RESOURCE_ALREADY_EXISTS") return;
        throw error;
      }
    },

    /** Versions of a registered model, the newest first. */
    modelVersions: async (name: string): Promise<ModelVersion[]> => {
      const filter = `name='${name.replaceAll("'", "''")}'`;
      const query = { filter, max_results: 1000, order_by: "version_number DESC" };
      const path = `${API}/model-versions/search`;
      return (await call({ method: "get", path, query, answer: ModelVersionsFound }))
        .model_versions;
    },

    createModelVersion: async (version: NewVersion): Promise<ModelVersion> => {
      const answer = ModelVersionAnswer;
      return (await call({ ...post("model-versions/create", version), answer, creates: true }))
        .model_version;
    },

    setAlias: (name: string, alias: string, version: string) =>
      call({ ...post("registered-models/alias", { name, alias, version }), answer: Anything }),

    versionByAlias: async (name: string, alias: string): Promise<ModelVersion> => {
      const path = `${API}/registered-models/alias`;
      const query = { name, alias };
      return (await call({ method: "get", path, query, answer: ModelVersionAnswer }))
        .model_version;
    },
  };
}
