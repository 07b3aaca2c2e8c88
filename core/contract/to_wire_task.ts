import { knownMetric, QUALITY } from "../metrics/metric_table.ts";
import type { WireTask } from "../schemas/data/wire_task.ts";
import type { WireScorer } from "../schemas/scoring/wire_scorer.ts";
import { scorerParams } from "./check_scorers.ts";
import type { Task } from "./plugin.ts";
import { metricsOf, type Scorer, type TaskScorer } from "./scorer.ts";

/** A scorer with the knobs that a task sets, the others at their defaults, as the worker is asked for it. */
export function wireScorer(
  scorer: Scorer,
  { params = {} }: Pick<TaskScorer, "params">,
  reported_metric: string,
): WireScorer {
  const set = scorerParams(scorer, params);
  const { name, version, reads, python_dir } = scorer;
  return {
    scorer: name,
    version,
    params: set,
    reads: [...reads],
    metrics: metricsOf(scorer, set, reported_metric)
      .map(({ metric, unit, direction }) => ({ metric, unit, direction })),
    judges: scorer.judges === true,
    python_path: python_dir === undefined ? null : `${python_dir}/${name}.py`,
  };
}

/**
 * A benchmark as the Python half needs it. `dataPath` is the absolute path of its rows: the shipped
 * file, the user's, or the task's file under the data directory; null takes the data of lm-eval's own
 * task from the hub or its cache. `scorer` finds a scorer by its name.
 */
export function wireTask(
  task: Task,
  dataPath: string | null,
  scorer: (name: string) => Scorer,
): WireTask {
  const { reported_metric } = task;
  const { unit, direction, scale } = knownMetric(reported_metric, "metric", QUALITY);
  return {
    task: task.name,
    task_version: task.version,
    origin: task.origin ?? "plugin",
    scorers: task.scorers.map((one) => wireScorer(scorer(one.scorer), one, reported_metric)),
    lm_eval_task: task.lm_eval_task,
    definition: task.definition,
    data_file: task.shipped ? null : task.data_file,
    data_path: dataPath,
    few_shot: task.few_shot,
    metric: task.metric,
    reported_metric,
    unit,
    direction,
    window_tokens: task.window_tokens,
    chance: scale === "share" ? task.chance : null,
    ...(task.member_of === undefined ? {} : { member_of: [...task.member_of] }),
  };
}
