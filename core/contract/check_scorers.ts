import { unknownName, UsageError } from "../errors.ts";
import type { Task } from "./plugin.ts";
import { metricsOf, type Scorer } from "./scorer.ts";

/** A scorer's knobs, those that are not given at their defaults; what it does not take is refused. */
export function scorerParams(
  { name, params }: Scorer,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const parsed = params.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
  const known = Object.keys(params.shape).join(", ") || "none";
  throw new UsageError(
    `Cannot score by ${name} with ${
      JSON.stringify(given)
    }: ${where}${issue?.message}; its knobs: ${known}`,
  );
}

/** Why a task cannot be scored as it says, as the end of a sentence; null: it can. */
function wrongScorers(task: Task, scorers: readonly Scorer[]): string | null {
  const { window_tokens, reported_metric, runs_code } = task;
  const names = scorers.map(({ name }) => name);
  // A third party's may be plain JavaScript.
  const named = (task.scorers as Task["scorers"] | undefined) ?? [];
  if (named.length === 0) {
    return `it must say by "scorers" what scores its answers: [{ scorer: NAME }], one of ${
      names.join(", ")
    }`;
  }
  const missing = named.find(({ scorer }) => !names.includes(scorer));
  if (missing !== undefined) return unknownName("scorer", missing.scorer, names);
  const own = named.map((one) => ({
    scorer: scorers.find(({ name }) => name === one.scorer)!,
    params: one.params ?? {},
  }));
  const [first] = own;
  const given = metricsOf(
    first!.scorer,
    scorerParams(first!.scorer, first!.params),
    reported_metric,
  )
    .map(({ metric }) => metric);
  if (given[0] !== reported_metric) {
    return `its reported_metric must be what its first scorer gives: it is ${reported_metric}, ` +
      `${first!.scorer.name} gives ${given.join(", ")}`;
  }
  const isText = window_tokens !== null;
  const other = own.find(({ scorer: { reads } }) =>
    isText ? !reads.includes("windows") : reads.every((form) => form === "windows")
  );
  if (other !== undefined) {
    return `its scorer ${other.scorer.name} reads ${
      other.scorer.reads.join(" or ")
    }, and its rows are ${
      isText ? "windows of a text (window_tokens)" : "no windows of a text (window_tokens)"
    }`;
  }
  const runs = own.find(({ scorer }) => scorer.runs_code === true);
  if ((runs !== undefined) === (runs_code === true)) return null;
  return runs === undefined
    ? "it says runs_code, and none of its scorers runs any"
    : `its scorer ${runs.scorer.name} runs what the model wrote: it must say runs_code`;
}

/** Refuses a task whose scorers are not there, or do not give what it reports. */
export function checkTaskScorers(task: Task, path: string, scorers: readonly Scorer[]): void {
  const reason = wrongScorers(task, scorers);
  if (reason === null) return;
  throw new UsageError(`Cannot register task "${task.name}" of ${path}: ${reason}`);
}
