import { knownMetric, QUALITY } from "../metrics/metric_table.ts";
import type { WireTask } from "../schemas/wire.ts";
import type { Task } from "./plugin.ts";

/**
 * A benchmark as the Python evaluator needs it. `dataPath` is the absolute path of its rows: the
 * shipped file, the user's, or the task's file under the data directory; null takes the data of
 * lm-eval's own task from the hub or its cache.
 */
export function wireTask(task: Task, dataPath: string | null): WireTask {
  const { unit, direction, scale } = knownMetric(task.reported_metric, "metric", QUALITY);
  return {
    task: task.name,
    task_version: task.version,
    origin: task.origin ?? "plugin",
    evaluator: task.evaluator,
    lm_eval_task: task.lm_eval_task,
    definition: task.definition,
    data_file: task.shipped ? null : task.data_file,
    data_path: dataPath,
    few_shot: task.few_shot,
    metric: task.metric,
    reported_metric: task.reported_metric,
    unit,
    direction,
    window_tokens: task.window_tokens,
    chance: scale === "share" ? task.chance : null,
    ...(task.member_of === undefined ? {} : { member_of: [...task.member_of] }),
  };
}
