import type { Evaluation, Spec } from "../../../core/mod.ts";
import { sample, world } from "../study_world.ts";

export const TASKS = ["general", "sums", "code", "kind"] as const;

/** So many samples of each task, the first `right` of them right; chance is 0.25. */
export function evaluationOf(
  n: number,
  right: Partial<Record<typeof TASKS[number], number>>,
): Evaluation {
  const samples = TASKS.flatMap((task) =>
    Array.from({ length: n }, (_, i) => sample(task, i, i < (right[task] ?? 0) ? 1 : 0))
  );
  const row = {
    ...{ metric: "accuracy", unit: "1", direction: "maximize" as const, standard_error: 0.01, n },
    ...{ fidelity: "full", provenance: "measured" as const, task_version: "1", slice: null },
    ...{ runtime: null, numerics: null, device: "cpu", method: null, chance: 0.25 },
  };
  const measurements = TASKS.map((task) => ({ ...row, task, value: (right[task] ?? 0) / n }));
  return { measurements, samples, protocol: {} };
}

/** A study of these tasks, with one that cannot be had. */
export const scoredSpec: Spec = {
  ...world().input().spec,
  tasks: TASKS.map((task) => ({ task, task_version: "1", metric: "accuracy", primary: true })),
  missing_tasks: [{ task: "shop", reason: "it needs a simulated shop" }],
};

export const N = 400;
/** 0.75 everywhere: half a point above chance. */
export const HALF = { general: 300, sums: 300, code: 300, kind: 300 };
