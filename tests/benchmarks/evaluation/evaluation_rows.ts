import { textTable } from "../../../tracker/show/terminal/table.ts";
import { median } from "../bench_table.ts";
import type { RatioRow } from "../tracker/ratio_table.ts";
import type { ComparedTask, EvaluationResult } from "./run_evaluation.ts";

/** A share by which two medians may differ and count as alike, where the passes overlap. */
const ALIKE = 0.05;

/** Whether the passes do not tell the two sides apart. */
function alike({ seconds, plain_seconds }: ComparedTask): boolean {
  const near = Math.abs(median(seconds) / median(plain_seconds) - 1) <= ALIKE;
  return near && Math.min(...seconds) <= Math.max(...plain_seconds) &&
    Math.min(...plain_seconds) <= Math.max(...seconds);
}

/** Samples a second of both sides, by the median of their passes. */
export function rateRows(tasks: EvaluationResult["tasks"]): RatioRow[] {
  return Object.entries(tasks).map(([name, task]) => ({
    what: `${name}: ${task.samples} samples`,
    ours: task.samples / median(task.seconds),
    unit: "samples/s",
    peer: {
      name: `lm-eval, batch ${task.plain_batch_size}`,
      figure: task.samples / median(task.plain_seconds),
    },
    goal: { times: 1 },
    alike: alike(task),
  }));
}

/** Seconds of a proxy and the full evaluation after it, beside the full one alone. */
export function proxyRows(found: EvaluationResult["proxy"]): RatioRow[] {
  if (found === null) return [];
  const { proxy, full, alone } = found;
  return [{
    what: "proxy (half), then full",
    ours: proxy.seconds + full.seconds,
    unit: "s",
    peer: { name: "full alone", figure: alone.seconds },
    goal: null,
  }];
}

/** How many samples score otherwise than in lm-eval. */
export function unequalSamples(tasks: EvaluationResult["tasks"]): number {
  return Object.values(tasks).reduce((sum, { unequal }) => sum + unequal, 0);
}

function scoreCells(name: string, task: ComparedTask): string[] {
  const { samples, unequal, largest_difference, value, plain_value } = task;
  return [
    name,
    String(samples),
    String(unequal),
    largest_difference === 0 ? "0" : largest_difference.toExponential(1),
    value.toFixed(4),
    plain_value.toFixed(4),
  ];
}

/** Each task's scores, sample by sample. */
export function scoreTable(tasks: EvaluationResult["tasks"]): string {
  const rows = Object.entries(tasks).map(([name, task]) => scoreCells(name, task));
  return textTable(["scores", "samples", "unequal", "largest difference", "ours", "lm-eval"], rows);
}

function spread(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;
}

function proxyNotes(found: EvaluationResult["proxy"]): string[] {
  if (found === null) return [];
  const { proxy, full, alone } = found;
  return [
    `Requests: ${alone.requests} of the full evaluation alone; ${proxy.requests} of the proxy and ` +
    `${full.requests - full.reused_requests} more of the full one after it, which took ` +
    `${full.reused_requests} answers of the proxy. Each stage loads the model (in its seconds)`,
  ];
}

/** How it was measured, and each task's passes. */
export function evaluationNotes(result: EvaluationResult, loads: readonly number[]): string[] {
  const passes = Object.entries(result.tasks).map(([name, task]) => {
    const tried = Object.entries(task.tried).map(([size, s]) => `${size}: ${s.toFixed(1)}`);
    return `${name}: ours ${spread(task.seconds)} s, lm-eval's ${spread(task.plain_seconds)} s ` +
      `(${task.seconds.length} passes in turn); by batch size ${tried.join(", ")} s`;
  });
  return [
    `alike: the medians differ by at most ${ALIKE * 100} % and the passes overlap`,
    ...passes,
    ...proxyNotes(result.proxy),
    `Load average ${loads[0]!.toFixed(1)} at the start, ${loads[1]!.toFixed(1)} at the end`,
  ];
}
