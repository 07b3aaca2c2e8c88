import type { SampleResult } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Comparable } from "./comparable.ts";
import type { ComparedLatency } from "./compared_latency.ts";
import { directionsOf, objectiveFigure, pointOf } from "./objectives.ts";
import { paretoFront } from "./pareto.ts";
import { isQualityMetric } from "../metrics/metric_table.ts";
import { overTasks, ownRow } from "../evidence/quality.ts";
import { sampleWeights, weightedMean } from "../evidence/strata.ts";

export interface Contender {
  readonly trial: Comparable;
  /** Its full evaluation's samples. */
  readonly samples: readonly SampleResult[];
}

/**
 * How probable it is that each trial belongs on the front, by trial id: the share of resampled
 * worlds in which nothing beats it. A world draws the benchmark's samples with replacement, the
 * same draw for every trial (they are paired), and moves latency and memory by their standard
 * errors, trials of one stored form together. Sizes are exact. Give it the trials of the front and those it beats; trials without a
 * point are left out.
 */
export function frontProbability(
  contenders: readonly Contender[],
  spec: Spec,
  random: () => number,
  { resamples = 1000 }: { resamples?: number } = {},
): Map<string, number> {
  const rivals = contenders.filter(({ trial }) => "point" in pointOf(trial, spec));
  const wins = new Map(rivals.map(({ trial }) => [trial.trial_id, 0]));
  const drawQuality = qualityDraws(rivals, spec, random);
  for (let world = 0; world < resamples; world++) {
    const quality = drawQuality();
    const drawLatency = latencyDraw(random);
    const points = rivals.map(({ trial }, i) =>
      spec.objectives.map(({ metric }) => {
        if (isQualityMetric(metric)) return quality[i]!;
        if (metric === "latency_ms") return drawLatency(trial.latency!);
        const row = objectiveFigure(trial, metric, spec)!;
        return row.value + (row.standard_error ?? 0) * (row.standard_error ? normal(random) : 0);
      })
    );
    for (const i of paretoFront(points, directionsOf(spec))) {
      const id = rivals[i]!.trial.trial_id;
      wins.set(id, wins.get(id)! + 1);
    }
  }
  return new Map([...wins].map(([id, count]) => [id, count / resamples]));
}

/** Latencies of one world: trials of one stored form meet the same one. */
function latencyDraw(random: () => number): (latency: ComparedLatency) => number {
  const drawn = new Map<string, number>();
  return ({ form, ms, log_error }) => {
    const known = drawn.get(form);
    if (known !== undefined) return known;
    const value = log_error ? ms * Math.exp(log_error * normal(random)) : ms;
    drawn.set(form, value);
    return value;
  };
}

/** A standard normal number (Box and Muller, one of the pair). */
function normal(random: () => number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

/** One draw: each rival's primary quality on the same resampled benchmark, tasks by their weights. */
function qualityDraws(
  rivals: readonly Contender[],
  spec: Spec,
  random: () => number,
): () => number[] {
  const metric = spec.objectives.find((objective) => isQualityMetric(objective.metric))?.metric;
  const tables = spec.tasks.filter((plan) =>
    plan.primary &&
    rivals.every(({ trial }) => {
      const own = ownRow(trial.measurements, plan);
      return own !== undefined && overTasks(own.metric) === metric;
    })
  ).map(({ task, weight = 1 }) => ({ ...scoreTable(rivals, task), weight }))
    .filter(({ table }) => (table[0]?.length ?? 0) > 0);
  if (metric === undefined || tables.length === 0) {
    return () =>
      rivals.map(({ trial }) =>
        metric === undefined ? 0 : objectiveFigure(trial, metric, spec)!.value
      );
  }
  return () => {
    const perTask = tables.map(({ table, row_weights, weight }) => {
      const n = table[0]!.length;
      const drawn = Array.from({ length: n }, () => Math.floor(random() * n));
      const total = drawn.reduce((sum, row) => sum + row_weights[row]!, 0);
      const means = table.map((scores) =>
        drawn.reduce((sum, row) => sum + row_weights[row]! * scores[row]!, 0) / total
      );
      return { means, weight };
    });
    return rivals.map((_, i) => {
      const value = weightedMean(
        perTask.map(({ means, weight }) => ({ value: means[i]!, weight })),
      );
      return metric === "perplexity" ? Math.exp(value) : value;
    });
  };
}

/**
 * A row of scores for each rival, over the samples of a task that all of them have, and how much
 * each sample counts in the benchmark's mean.
 */
function scoreTable(
  rivals: readonly Contender[],
  task: string,
): { table: number[][]; row_weights: number[] } {
  const maps = rivals.map(({ samples }) =>
    new Map(samples.filter((one) => one.task === task).map((one) => [one.sample_hash, one]))
  );
  const shared = [...maps[0]?.keys() ?? []].filter((hash) => maps.every((map) => map.has(hash)));
  const table = maps.map((map) => shared.map((hash) => map.get(hash)!.score));
  return { table, row_weights: sampleWeights(shared.map((hash) => maps[0]!.get(hash)!)) };
}
