import {
  type Registry,
  type Rubric,
  type Scorer,
  UsageError,
  wireScorer,
  type WireTask,
} from "../../../core/mod.ts";
import { withRubric } from "./rubrics.ts";

/** The scorer that judges by any rubric. */
export function rubricScorer({ scorers }: Pick<Registry, "scorers">): Scorer {
  const found = scorers.find(({ judges, params }) => judges === true && "rubric" in params.shape);
  if (found === undefined) {
    throw new UsageError("Cannot judge by a rubric: no scorer here takes one");
  }
  return found;
}

/** Whether answers of the task are texts that the model writes. */
export function isWritten({ definition, window_tokens, scorers }: WireTask): boolean {
  if (window_tokens !== null) return false;
  const type = definition?.["output_type"];
  if (typeof type === "string") return type === "generate_until";
  return definition?.["generation_kwargs"] !== undefined ||
    scorers.some(({ reads }) => reads.includes("text") && !reads.includes("choices"));
}

/**
 * The task with rubrics by their content; where one is given, every task that is written is judged by it,
 * in place of the task's own rubric.
 */
export function asJudged(
  task: WireTask,
  rubric: Rubric | null,
  registry: Pick<Registry, "scorers">,
): WireTask {
  const own = { ...task, scorers: task.scorers.map(withRubric) };
  if (rubric === null || !isWritten(task)) return own;
  const judge = rubricScorer(registry);
  const known = own.scorers.find(({ scorer }) => scorer === judge.name);
  const made = wireScorer(
    judge,
    { params: { ...known?.params, rubric } },
    task.reported_metric,
  );
  const others = own.scorers.filter(({ scorer }) => scorer !== judge.name);
  if (own.scorers[0] === known) return { ...own, scorers: [made, ...others] };
  return { ...own, scorers: [...others, made] };
}
