import { FULL_CACHE, type SampleResult } from "../../../core/mod.ts";
import type { ResultTable, ResultTask } from "../../show/sweep/result_table.ts";
import { formatCsv } from "../../store/query/printed_answer.ts";
import { bytes, duration } from "../../show/view/number_text.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import type { SamplesByTrial } from "./compared_rows.ts";

/** What became of an answer: against the full cache's, of what is no score from 0 to 1 which way it went. */
function classOf(
  sample: SampleResult,
  full: SampleResult | undefined,
  { share, higher }: Pick<ResultTask, "share" | "higher">,
): string {
  if (sample.answer !== null && sample.answer.trim() === "") return "empty";
  if (!share) {
    const more = full === undefined ? 0 : Math.sign(sample.score - full.score);
    return more === 0 ? "same" : (more > 0) === higher ? "better" : "worse";
  }
  if (full === undefined) return sample.score > 0 ? "right" : "wrong";
  if (sample.score === full.score) return sample.score > 0 ? "kept" : "wrong before";
  return sample.score > full.score ? "gained" : "lost";
}

const COLUMNS = [
  ...["trial_id", "method", "budget", "task", "sample_id", "score", "full_score", "class"],
  ...["context_tokens", "kept_tokens", "kv_bytes", "cut_tokens", "seconds", "answer", "gold"],
] as const;

/** Per-sample rows with what became of each answer, for whoever looks for errors. */
export function samplesCsv({ rows, tasks }: ResultTable, samples: SamplesByTrial): string {
  const key = ({ task, sample_hash }: SampleResult) => `${task} ${sample_hash}`;
  const full = rows.find(({ method }) => method === FULL_CACHE);
  const before = new Map((samples.get(full?.trial_id ?? "") ?? []).map((one) => [key(one), one]));
  const lines = rows.flatMap(({ trial_id, method, budget }) =>
    (samples.get(trial_id) ?? []).flatMap((sample) => {
      const task = tasks.find((one) => one.task === sample.task);
      if (task === undefined) return [];
      const whole = before.get(key(sample));
      const other = method === FULL_CACHE ? undefined : whole;
      const told = { trial_id, method, budget, full_score: whole?.score ?? null };
      return [{ ...sample, ...told, class: classOf(sample, other, task) }];
    })
  );
  return formatCsv({
    columns: COLUMNS.map((name) => ({ name, type: "" })),
    rows: lines.map((line) =>
      Object.fromEntries(COLUMNS.map((name) => [name, line[name] ?? null]))
    ),
    ...{ capped: false, stale: null },
  });
}

/** Status, what is left and what it took, for whoever plans. */
export function managerPage(
  { study_id, trials, stop, message, phases, facts, request }: StudyView,
  { rows, lacking, untold }: ResultTable,
): string {
  const spent = trials.flatMap(({ spans }) => spans).reduce((sum, one) => sum + one.seconds, 0);
  const done = trials.filter(({ strategy, state }) => strategy !== null && state === "completed");
  const other = trials.filter(({ strategy, state }) => strategy !== null && state !== "completed");
  const cells = done.length === 0 ? 0 : spent / (done.length + other.length);
  const smallest = rows.filter(({ kv_bytes }) => kv_bytes !== null)
    .sort((a, b) => a.kv_bytes! - b.kv_bytes!)[0];
  return [
    `# ${study_id}`,
    "",
    `- Status: ${stop === null ? "running, or interrupted" : message ?? stop}`,
    `- Cells run: ${done.length}${other.length === 0 ? "" : `, ${other.length} not completed`}`,
    `- Time: ${duration(spent)} of work, ${duration(cells)} a cell in the mean; longest: ${
      phases.slice(0, 3).map(({ name, seconds }) => `${name} ${duration(seconds)}`).join(", ")
    }`,
    `- Machine: ${facts.device.device_name}, ${facts.device.cores} cores; model ${request.model_name}`,
    ...(smallest === undefined ? [] : [
      `- Smallest cache of a context: ${
        bytes(smallest.kv_bytes)
      } (${smallest.method} ${smallest.budget})`,
    ]),
    ...(untold.length === 0 ? [] : [`- Benchmarks that decide nothing here: ${untold.join(", ")}`]),
    ...(lacking.length === 0 ? [] : [`- Baselines that were not run: ${lacking.join(", ")}`]),
    "",
  ].join("\n");
}
