import { reportedName } from "../metrics/metric_table.ts";
import type { Task } from "../contract/plugin.ts";
import { UsageError } from "../errors.ts";
import type { FoundTask } from "../schemas/data/found_task.ts";

/** Samples of the fast evaluation where a task does not say. */
const PROXY_SAMPLES = 100;

/** Where a found task's rows lie on this disk; null: the hub or its cache has them. */
export interface FoundData {
  /** File URL of its rows. */
  readonly rows: string;
  /** Path of the rows of its examples; null: it needs none, or holds them itself. */
  readonly examples: string | null;
}

/**
 * A benchmark that is no plugin as one, for this study: chosen by `asked`, the word that the user
 * wrote. A task of lm-eval that has the name of a plugin is called `lm_eval:NAME`, as two
 * benchmarks of one name could not be told apart; a task file must find another name.
 */
export function foundTask(
  found: FoundTask,
  asked: string,
  plugins: readonly Task[],
  data: FoundData | null,
): Task {
  const taken = plugins.some((task) => task.name === found.name);
  if (taken && found.origin === "file") {
    throw new UsageError(
      `Cannot use the task file ${asked} as its task is called "${found.name}", as a benchmark of ` +
        `this project is: give it another name`,
    );
  }
  const train = data?.examples ?? null;
  return {
    kind: "task",
    name: taken ? `lm_eval:${found.name}` : found.name,
    version: found.version,
    summary: found.summary,
    scorers: found.scorers,
    lm_eval_task: found.lm_eval_task,
    definition: train === null
      ? found.definition
      : { ...found.definition, dataset_kwargs: { data_files: { train } } },
    data_file: data?.rows ?? found.data_file,
    shipped: data !== null,
    few_shot: found.few_shot,
    metric: found.metric,
    reported_metric: reportedName(found.metric),
    chance: found.chance,
    proxy_samples: found.proxy_samples ?? PROXY_SAMPLES,
    full_samples: found.full_samples,
    window_tokens: null,
    datasets: [asked],
    origin: found.origin,
    ...(found.member_of.length === 0 ? {} : { member_of: found.member_of }),
  };
}
