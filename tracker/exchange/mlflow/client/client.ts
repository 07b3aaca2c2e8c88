import { artifactCalls } from "./artifacts.ts";
import { registryCalls } from "./registry.ts";
import { type Connection } from "./connection.ts";
import { type Caller, MlflowError, openCaller, paged, PATIENCE, type Patience } from "./http.ts";
import { checkKey } from "./server_limits.ts";
import { batchBodies, type RunData } from "./log_batch.ts";
import {
  Anything,
  type Experiment,
  ExperimentAnswer,
  ExperimentCreated,
  ExperimentsFound,
  MetricHistory,
  type MetricPoint,
  type Run,
  RunAnswer,
  RunsFound,
  type RunStatus,
} from "./answers.ts";

export const API = "api/2.0/mlflow";

/** A dataset that a run has used. */
export interface UsedDataset {
  readonly name: string;
  /** At most 36 characters; name and digest together are its identity. */
  readonly digest: string;
  readonly source_type: string;
  /** JSON text. */
  readonly source: string;
  /** Such as training or evaluation. */
  readonly context: string;
}

/** What a new run begins with. Times are milliseconds since 1970. */
export interface NewRun {
  readonly experiment_id: string;
  readonly run_name: string;
  readonly start_time: number;
  readonly tags: readonly { key: string; value: string }[];
}

/** A typed client of MLflow's REST interface. Every failure is a `MlflowError` or `UsageError`. */
export type MlflowClient = ReturnType<typeof createMlflowClient>;

/** A text inside a filter of a search. MLflow knows no way to escape a quotation mark. */
export function quoted(text: string): string {
  if (!text.includes("'")) return `'${text}'`;
  if (!text.includes('"')) return `"${text}"`;
  throw new Error(`Cannot search for ${text}: it holds both quotation marks`);
}

/** Opens a client of the server that a connection names; nothing is sent yet. */
export function createMlflowClient(connection: Connection, patience: Patience = PATIENCE) {
  const call = openCaller(connection, patience);
  return {
    shown: connection.shown,
    ...experimentCalls(call),
    ...runCalls(call),
    ...artifactCalls(call),
    ...registryCalls(call),
  };
}

/** Null where the server says that there is no such thing. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof MlflowError && error.code === "RESOURCE_DOES_NOT_EXIST") return null;
    throw error;
  }
}

function experimentCalls(call: Caller) {
  return {
    findExperiment: (name: string): Promise<Experiment | null> =>
      orNull(
        call({
          method: "get",
          path: `${API}/experiments/get-by-name`,
          query: { experiment_name: name },
          answer: ExperimentAnswer,
        }).then(({ experiment }) => experiment),
      ),

    /** Names are unique: RESOURCE_ALREADY_EXISTS where there is one. */
    createExperiment: async (name: string): Promise<string> => {
      // Its page opens on training runs; without the tag newer servers take it for traces of agents.
      const tags = [{ key: "mlflow.experimentKind", value: "custom_model_development" }];
      const body = JSON.stringify({ name, tags });
      const path = `${API}/experiments/create`;
      return (await call({ method: "post", path, body, answer: ExperimentCreated, creates: true }))
        .experiment_id;
    },

    /** Every experiment that is not deleted. */
    experiments: (): AsyncGenerator<Experiment> =>
      paged((page_token) => {
        const body = JSON.stringify({ max_results: 1000, page_token });
        const path = `${API}/experiments/search`;
        return call({ method: "post", path, body, answer: ExperimentsFound });
      }, ({ experiments }) => experiments),
  };
}

function runCalls(call: Caller) {
  const post = (path: string, value: unknown) =>
    call({ method: "post", path: `${API}/${path}`, body: JSON.stringify(value), answer: Anything });

  return {
    createRun: async (run: NewRun): Promise<Run> => {
      const path = `${API}/runs/create`;
      const body = JSON.stringify(run);
      return (await call({ method: "post", path, body, answer: RunAnswer, creates: true })).run;
    },

    getRun: async (run_id: string): Promise<Run> => {
      const query = { run_id };
      return (await call({ method: "get", path: `${API}/runs/get`, query, answer: RunAnswer })).run;
    },

    /** Runs that are not deleted, in the order of their start; `filter` in MLflow's own words. */
    runs: (experiment_ids: readonly string[], filter = ""): AsyncGenerator<Run> =>
      paged((page_token) => {
        const order_by = ["attributes.start_time ASC", "attributes.run_id ASC"];
        const asked = { experiment_ids, filter, max_results: 1000, order_by, page_token };
        const body = JSON.stringify(asked);
        return call({ method: "post", path: `${API}/runs/search`, body, answer: RunsFound });
      }, ({ runs }) => runs),

    updateRun: (
      run_id: string,
      change: { status?: RunStatus; end_time?: number; run_name?: string },
    ) => post("runs/update", { run_id, ...change }),

    deleteRun: (run_id: string) => post("runs/delete", { run_id }),

    /**
     * Writes points, params and tags in as many requests as the server's limits ask for. Sending
     * the same again changes nothing: a point is its key, time, step and value.
     *
     * @throws UsageError for a name that the server would refuse, before any request.
     */
    log: async (run_id: string, data: RunData): Promise<void> => {
      for (const { key } of data.metrics ?? []) checkKey("metric", key);
      for (const { key } of data.params ?? []) checkKey("param", key);
      for (const { key } of data.tags ?? []) checkKey("tag", key);
      for (const body of batchBodies(run_id, data)) {
        await call({ method: "post", path: `${API}/runs/log-batch`, body, answer: Anything });
      }
    },

    /** Every point of a metric, in the order of time. */
    metricHistory: (run_id: string, metric_key: string): AsyncGenerator<MetricPoint> =>
      paged((page_token) => {
        const query = { run_id, metric_key, max_results: 25_000, page_token };
        const path = `${API}/metrics/get-history`;
        return call({ method: "get", path, query, answer: MetricHistory });
      }, ({ metrics }) => metrics),

    logDatasets: (run_id: string, datasets: readonly UsedDataset[]) =>
      post("runs/log-inputs", {
        run_id,
        datasets: datasets.map(({ context, ...dataset }) => ({
          tags: [{ key: "mlflow.data.context", value: context }],
          dataset,
        })),
      }),

    /** Says that a run made a logged model. */
    logOutputModel: (run_id: string, model_id: string) =>
      post("runs/outputs", { run_id, models: [{ model_id, step: 0 }] }),
  };
}
