import { ownRow } from "../evidence/quality.ts";
import { isShare, QUALITY } from "../metrics/metric_table.ts";
import { z } from "zod";
import type { Facts } from "../schemas/facts.ts";
import { Fidelity } from "../schemas/fidelity.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { memoryRow } from "../evidence/constraints.ts";
import type { Comparable } from "./comparable.ts";
import { objectiveFigure } from "./objectives.ts";

const Figure = z.number().nullable();

/** A trial in one flat row; null = not measured. */
export const ResultVector = z.strictObject({
  strategy_id: z.string().describe('"baseline" for the uncompressed model'),
  accuracy: Figure.describe("unweighted mean over the primary tasks"),
  gsm8k_accuracy: Figure,
  commonsense_accuracy: Figure,
  truthful_accuracy: Figure,
  humaneval_pass_rate: Figure,
  bigbench_hard_accuracy: Figure,
  latency_ms: Figure.describe(
    "per generated token: the ratio to the baseline of the same minutes, times one baseline",
  ),
  memory_gb: Figure.describe("peak of the inference process, 1e9 bytes; on a GPU its memory"),
  energy_j_per_1k_tokens: Figure,
  valid: z.boolean().describe("ran to its end, within memory, no constraint violated"),
});
export type ResultVector = z.infer<typeof ResultVector>;

/** A trial with its benchmarks; null = not measured. */
export const ResultReport = z.strictObject({
  strategy_id: z.string(),
  fidelity: Fidelity.nullable(),
  benchmark_results: z.record(
    z.string(),
    z.union(
      ["pass_rate", ...QUALITY.map(({ name }) => name)].map((name) =>
        z.strictObject({ [name]: z.number(), n_samples: z.int() })
      ),
    ),
  ),
  aggregate_accuracy: Figure,
  latency_ms: Figure,
  memory_gb: Figure,
  model_size_gb: Figure.describe("bytes of the weight files / 1e9"),
  energy_j_per_1k_tokens: Figure,
  energy_provenance: z.enum(["measured", "estimated", "emulated"]).nullable(),
  valid: z.boolean(),
  compression_ratio: Figure.describe("compression_base_gb / model_size_gb"),
  compression_base: z.literal("fp16").describe("2 bytes per parameter"),
  compression_base_gb: z.number(),
  original_size_gb: z.number().describe("the weights as the user gave them"),
  compression_ratio_to_original: Figure.describe("original_size_gb / model_size_gb"),
});
export type ResultReport = z.infer<typeof ResultReport>;

const GIGABYTE = 1e9;

/** Columns of the flat row and words that a task's name holds: gsm8k, gsm8k_cot, bbh_fewshot… */
const COLUMNS = {
  gsm8k_accuracy: /gsm8k/,
  commonsense_accuracy: /commonsense|csqa/,
  truthful_accuracy: /truthful/,
  humaneval_pass_rate: /human_?eval/,
  bigbench_hard_accuracy: /bbh|big_?bench/,
} as const;

/** Ran to its end within memory and violates no constraint. */
function isValid(trial: Trial): boolean {
  return trial.state === "completed" &&
    trial.constraints.every((verdict) => verdict.verdict !== "violated");
}

/** The flat row of a trial. */
export function resultVector(trial: Comparable, spec: Spec, facts: Facts): ResultVector {
  const columns = Object.entries(COLUMNS).map(([column, words]) => {
    const row = taskRows(trial, spec).find((row) => words.test(row.task!) && isShare(row.metric));
    return [column, finite(row?.value)];
  });
  return ResultVector.parse({
    strategy_id: strategyId(trial),
    accuracy: finite(overall(trial)?.value),
    ...Object.fromEntries(columns),
    ...resources(trial, spec, facts),
    valid: isValid(trial),
  });
}

/** The benchmarks, sizes and ratios of a trial. */
export function resultReport(trial: Comparable, spec: Spec, facts: Facts): ResultReport {
  const size = finite(trial.measurements.findLast((row) => row.metric === "size_bytes")?.value);
  const ratio = (bytes: number) => size === null || size === 0 ? null : bytes / size;
  const energy = trial.measurements.findLast((row) => row.metric === "energy_j_per_1k_tokens");
  const benchmarks = taskRows(trial, spec).filter((row) => !Number.isNaN(row.value)).map((row) => {
    const programs = isShare(row.metric) && COLUMNS.humaneval_pass_rate.test(row.task!);
    const name = programs ? "pass_rate" : row.metric;
    return [row.task, { [name]: row.value, n_samples: row.n }];
  });
  return ResultReport.parse({
    strategy_id: strategyId(trial),
    fidelity: trial.fidelity,
    benchmark_results: Object.fromEntries(benchmarks),
    aggregate_accuracy: finite(overall(trial)?.value),
    ...resources(trial, spec, facts),
    model_size_gb: size === null ? null : size / GIGABYTE,
    energy_provenance: energy?.provenance ?? null,
    valid: isValid(trial),
    compression_ratio: ratio(facts.model.fp16_bytes),
    compression_base: "fp16",
    compression_base_gb: facts.model.fp16_bytes / GIGABYTE,
    original_size_gb: facts.model.original_bytes / GIGABYTE,
    compression_ratio_to_original: ratio(facts.model.original_bytes),
  });
}

function resources(trial: Comparable, spec: Spec, facts: Facts) {
  const memory = finite(memoryRow(trial.measurements, facts)?.value);
  const energy = trial.measurements.findLast((row) => row.metric === "energy_j_per_1k_tokens");
  return {
    latency_ms: finite(objectiveFigure(trial, "latency_ms", spec)?.value),
    memory_gb: memory === null ? null : memory / GIGABYTE,
    energy_j_per_1k_tokens: finite(energy?.value),
  };
}

function strategyId(trial: Trial): string {
  return trial.strategy?.strategy_id ?? "baseline";
}

/** Quality of each task at the trial's final fidelity, by its own metric. */
function taskRows(trial: Trial, { tasks }: Spec): Measurement[] {
  const rows = trial.measurements.filter((row) => row.fidelity === trial.fidelity);
  const names = new Set(rows.flatMap(({ task }) => task === null ? [] : [task]));
  return [...names].flatMap((task) =>
    ownRow(rows, tasks.find((plan) => plan.task === task) ?? { task }) ?? []
  );
}

function overall(trial: Trial): Measurement | undefined {
  return trial.measurements.findLast((row) =>
    row.metric === "accuracy" && row.task === null && row.slice === null &&
    row.fidelity === trial.fidelity
  );
}

function finite(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}
