import { normal } from "../random.ts";
import type { Measurement, SampleResult } from "../schemas/measurement.ts";
import { FULL } from "../schemas/fidelity.ts";
import type { Spec } from "../schemas/spec.ts";
import { overTasks, ownRow } from "../evidence/quality.ts";
import { effectiveSize, sampleWeights, weightedMean } from "../evidence/strata.ts";
import { isQualityMetric, isShare } from "../metrics/metric_table.ts";
import { scaleOf } from "../metrics/scale.ts";
import type { ComparedLatency } from "./compared_latency.ts";
import { type Compared, objectiveFigure } from "./objectives.ts";

/** A trial as it stands beside others: its figures, and its samples of one rung that all have. */
export interface Rival extends Compared {
  /** Of that rung: which metric each task's samples are scores of. */
  readonly rows: readonly Measurement[];
  readonly samples: readonly SampleResult[];
  /** What was evaluated: trials of one artifact are equally good; undefined: of its own. */
  readonly artifact?: string | undefined;
}

/**
 * What may be true of the rivals, by what was measured: each call draws one world, a point for each
 * rival in the order of the objectives. The benchmark's samples are drawn with replacement, the same
 * draw for every rival (they are paired), tasks and strata by their weights; latency and memory move
 * by their standard errors, trials of one stored form together; sizes are exact.
 *
 * Scores from 0 to 1 move by 1/(n+2) more, each artifact by itself: among few samples no difference is
 * no certainty. Two rivals then differ by the variance of Bonett and Price's two added pairs.
 *
 * A figure that a rival lacks is the worst there may be.
 */
export function worldsOf(
  rivals: readonly Rival[],
  spec: Spec,
  random: () => number,
  fidelity: string = FULL,
): () => number[][] {
  const columns = spec.objectives.map(({ metric, direction }): () => number[] => {
    if (isQualityMetric(metric)) return qualityDraws(rivals, metric, spec, random, fidelity);
    if (metric === "latency_ms") return latencyDraws(rivals, random);
    return figureDraws(rivals, { metric, direction }, spec, random, fidelity);
  });
  return () => {
    const drawn = columns.map((draw) => draw());
    return rivals.map((_, i) => drawn.map((column) => column[i]!));
  };
}

/** Figures with an error of their own each; without one they are exact. */
function figureDraws(
  rivals: readonly Rival[],
  { metric, direction }: Pick<Spec["objectives"][number], "metric" | "direction">,
  spec: Spec,
  random: () => number,
  fidelity: string,
): () => number[] {
  const worst = direction === "minimize" ? Infinity : -Infinity;
  const figures = rivals.map((rival) => objectiveFigure(rival, metric, spec, fidelity));
  return () =>
    figures.map((figure) => {
      if (figure === undefined || Number.isNaN(figure.value)) return worst;
      const { value, standard_error } = figure;
      return standard_error ? value + standard_error * normal(random) : value;
    });
}

/** Latencies: trials of one stored form meet the same one. */
function latencyDraws(rivals: readonly Rival[], random: () => number): () => number[] {
  const drawOf = (drawn: Map<string, number>, { form, ms, log_error }: ComparedLatency) => {
    const known = drawn.get(form);
    if (known !== undefined) return known;
    const value = log_error ? ms * Math.exp(log_error * normal(random)) : ms;
    drawn.set(form, value);
    return value;
  };
  return () => {
    const drawn = new Map<string, number>();
    return rivals.map(({ latency }) => latency === null ? Infinity : drawOf(drawn, latency));
  };
}

/** One task: the scores of the samples that all rivals have, equal rows of them counted together. */
interface ScoreTable {
  /** Row of the table by sample. */
  readonly rowOf: Uint32Array;
  /** By row: a score a rival, and how much one sample of it counts in the benchmark's mean. */
  readonly rows: readonly { readonly scores: readonly number[]; readonly weight: number }[];
  /** Standard deviation of what each artifact moves by alone. */
  readonly alone: number;
  readonly weight: number;
}

/** The quality of each rival on the same drawn benchmark. */
function qualityDraws(
  rivals: readonly Rival[],
  metric: string,
  spec: Spec,
  random: () => number,
  fidelity: string,
): () => number[] {
  const tables = spec.tasks.flatMap(({ task, metric: of, primary, weight = 1 }) => {
    const counted = primary && rivals.every(({ rows }) => {
      const own = ownRow(rows, { task, metric: of });
      return own !== undefined && overTasks(own.metric) === metric;
    });
    return counted ? scoreTable(rivals, { task, weight, share: isShare(metric) }) ?? [] : [];
  });
  if (tables.length === 0) {
    const direction = isShare(metric) ? "maximize" : "minimize";
    return figureDraws(rivals, { metric, direction }, spec, random, fidelity);
  }
  return () => {
    const moved = movesAlone(rivals, random);
    const means = tables.map((table) => drawnMeans(table, rivals.length, random));
    return rivals.map((_, i) => {
      const value = weightedMean(
        tables.map(({ weight, alone }, t) => ({
          value: means[t]![i]! + (alone > 0 ? alone * moved(i) : 0),
          weight,
        })),
      );
      return scaleOf(metric).figure(value);
    });
  };
}

/** Normal numbers, one for each task asked and artifact. */
function movesAlone(rivals: readonly Rival[], random: () => number): (rival: number) => number {
  const times = rivals.map(() => 0);
  const drawn = new Map<string, number[]>();
  return (i) => {
    const { artifact } = rivals[i]!;
    if (artifact === undefined) return normal(random);
    const known = drawn.get(artifact) ?? [];
    drawn.set(artifact, known);
    const time = times[i]!++;
    return known[time] ??= normal(random);
  };
}

/** Means of all rivals over as many samples as there are, drawn with replacement. */
function drawnMeans(
  { rowOf, rows }: ScoreTable,
  rivals: number,
  random: () => number,
): number[] {
  const n = rowOf.length;
  const counts = new Float64Array(rows.length);
  for (let i = 0; i < n; i++) counts[rowOf[Math.floor(random() * n)]!]!++;
  const sums = new Array<number>(rivals).fill(0);
  let total = 0;
  rows.forEach(({ scores, weight }, row) => {
    const counted = counts[row]! * weight;
    if (counted === 0) return;
    total += counted;
    for (let i = 0; i < rivals; i++) sums[i]! += counted * scores[i]!;
  });
  return sums.map((sum) => sum / total);
}

/** Null: there is no sample that all rivals have. */
function scoreTable(
  rivals: readonly Rival[],
  { task, weight, share }: { task: string; weight: number; share: boolean },
): ScoreTable | null {
  const maps = rivals.map(({ samples }) =>
    new Map(samples.filter((one) => one.task === task).map((one) => [one.sample_hash, one]))
  );
  const shared = [...maps[0]?.keys() ?? []].filter((hash) => maps.every((map) => map.has(hash)));
  if (shared.length === 0) return null;
  const weights = sampleWeights(shared.map((hash) => maps[0]!.get(hash)!));
  const places = new Map<string, number>();
  const rows: { scores: number[]; weight: number }[] = [];
  const rowOf = Uint32Array.from(shared, (hash, i) => {
    const scores = maps.map((map) => map.get(hash)!.score);
    const key = `${weights[i]} ${scores.join(" ")}`;
    const known = places.get(key);
    if (known !== undefined) return known;
    places.set(key, rows.length);
    return rows.push({ scores, weight: weights[i]! }) - 1;
  });
  return { rowOf, rows, alone: share ? 1 / (effectiveSize(weights) + 2) : 0, weight };
}
