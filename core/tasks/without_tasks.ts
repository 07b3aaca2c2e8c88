import { UsageError } from "../errors.ts";
import type { Spec } from "../schemas/spec.ts";
import { rungsOf } from "../schemas/rungs.ts";

/**
 * The spec without benchmarks whose data turned out to be broken: they are named as missing with
 * their reason and the study goes on with the others. Refused where nothing is left to compare by.
 */
export function withoutTasks(spec: Spec, refused: Spec["missing_tasks"]): Spec {
  const names = new Set(refused.map(({ task }) => task));
  const tasks = spec.tasks.filter(({ task }) => !names.has(task));
  if (!tasks.some(({ primary }) => primary)) {
    throw new UsageError(refused.map(({ reason }) => reason).join("; "));
  }
  const left = tasks.map(({ task }) => task).join(", ");
  return {
    ...spec,
    tasks,
    rungs: rungsOf(spec.rungs, tasks),
    missing_tasks: [...spec.missing_tasks, ...refused],
    warnings: [
      ...spec.warnings,
      ...refused.map(({ task, reason }) =>
        `${task} is left out and quality is measured on ${left} alone: ${reason}`
      ),
    ],
  };
}
