import { unknownName, UsageError } from "../../../../core/mod.ts";
import type { ForeignRun } from "../../imports/import_runs.ts";
import type { MlflowClient } from "../client/client.ts";
import { foreignRun, type History } from "./import_run.ts";
import type { Run } from "../client/answers.ts";

/** Histories that are asked for at the same time. */
const AT_ONCE = 8;

async function historiesOf(client: MlflowClient, { info, data }: Run): Promise<History[]> {
  const histories: History[] = [];
  const keys = data.metrics.map(({ key }) => key);
  for (let i = 0; i < keys.length; i += AT_ONCE) {
    histories.push(
      ...await Promise.all(
        keys.slice(i, i + AT_ONCE).map(async (metric) => ({
          metric,
          points: await Array.fromAsync(client.metricHistory(info.run_id, metric)),
        })),
      ),
    );
  }
  return histories;
}

/** Datasets as tags: the name, and the digest that tells its versions apart. */
function datasetTags({ inputs }: Run): { key: string; value: string }[] {
  return inputs.dataset_inputs.map(({ dataset }) => ({
    key: `dataset.${dataset.name}`,
    value: dataset.digest,
  }));
}

/** Runs of a server that are not deleted, of every experiment or of the one that is named. */
export async function* serverRuns(
  client: MlflowClient,
  experiment_name: string | undefined,
): AsyncGenerator<ForeignRun> {
  const all = await Array.fromAsync(client.experiments());
  const experiments = all.filter(({ name }) =>
    experiment_name === undefined || name === experiment_name
  );
  if (experiment_name !== undefined && experiments.length === 0) {
    throw new UsageError(unknownName("experiment", experiment_name, all.map(({ name }) => name)));
  }
  for (const experiment of experiments) {
    for await (const run of client.runs([experiment.experiment_id])) {
      const { info, data } = run;
      yield foreignRun({ ...experiment, creation_time: experiment.creation_time ?? null }, {
        run_id: info.run_id,
        name: info.run_name,
        status: info.status,
        start_time: info.start_time ?? null,
        end_time: info.end_time ?? null,
        params: data.params,
        tags: [...data.tags, ...datasetTags(run)],
        histories: await historiesOf(client, run),
      });
    }
  }
}
