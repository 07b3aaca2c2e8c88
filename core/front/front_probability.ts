import type { SampleResult } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import { quantile } from "../evidence/statistics.ts";
import { isQualityMetric } from "../metrics/metric_table.ts";
import { scaleOf } from "../metrics/scale.ts";
import type { Comparable } from "./comparable.ts";
import { type Rival, worldsOf } from "./front_worlds.ts";
import { hypervolume } from "./hypervolume.ts";
import { directionsOf, pointOf, scaled, type Yardstick } from "./objectives.ts";
import { paretoFront } from "./pareto.ts";
import { qualityPosterior } from "./quality_posterior.ts";

export interface Contender {
  readonly trial: Comparable;
  /** Its full evaluation's samples. */
  readonly samples: readonly SampleResult[];
}

/** A front and how sure it is. */
export interface FrontEstimate {
  /** How probable it is that each trial belongs on the front, by trial id. */
  readonly probability: ReadonlyMap<string, number>;
  /** 95 %, of the hypervolume of these trials; null: without a yardstick, or a trial to measure. */
  readonly hypervolume_interval: readonly [number, number] | null;
}

/** The label of the random numbers: the same wherever a study's front is estimated. */
export const FRONT_STREAM = "front probability";

/** Worlds that are drawn. */
const WORLDS = 500;

function rivalOf({ trial, samples }: Contender): Rival {
  return {
    ...trial,
    rows: trial.measurements,
    samples,
    artifact: trial.artifact_ids?.at(-1),
  };
}

/**
 * The worlds with qualities as they are likely to be, given all that was measured (`qualityPosterior`):
 * a world of `worldsOf` scatters round the measured values, the luckiest of many trials among them. Trials
 * of one artifact are one.
 */
function likelyWorlds(
  { points, rivals, worlds }: {
    readonly points: readonly (readonly number[])[];
    readonly rivals: readonly Rival[];
    readonly worlds: readonly (readonly number[])[][];
  },
  { objectives }: Pick<Spec, "objectives">,
  random: () => number,
): (readonly number[])[][] {
  const at = objectives.findIndex(({ metric }) => isQualityMetric(metric));
  if (at < 0) return [...worlds];
  const { mean, figure } = scaleOf(objectives[at]!.metric);
  const names = rivals.map(({ artifact }, i) => artifact ?? `alone ${i}`);
  const firsts = [...new Set(names)].map((name) => names.indexOf(name));
  const values = firsts.map((i) => mean(points[i]![at]!));
  const draw = qualityPosterior({
    values,
    places: firsts.map((i) =>
      points[i]!.filter((_, k) => k !== at).map((one) => Math.log(Math.max(one, 1e-12)))
    ),
    errors: worlds.map((world) => firsts.map((i, k) => mean(world[i]![at]!) - values[k]!)),
  }, random);
  if (draw === null) return [...worlds];
  return worlds.map((world) => {
    const drawn = draw().map(figure);
    return world.map((point, i) => {
      const of = drawn[firsts.findIndex((first) => names[first] === names[i])]!;
      return point.map((one, k) => k === at ? of : one);
    });
  });
}

/**
 * How probable it is that each trial belongs on the front: the share of likely worlds in which
 * nothing dominates it. Give it the trials of the front and those it dominates; trials without a point are
 * left out.
 *
 * The interval of the hypervolume turns the worlds' quantiles round the measured value (basic
 * bootstrap): noise pushes the best of many trials outwards, in the measured front as in every world
 * once more, and so cancels. A volume is never below 0.
 */
export function frontEstimate(
  contenders: readonly Contender[],
  spec: Spec,
  random: () => number,
  { resamples = WORLDS, yardstick = null }: { resamples?: number; yardstick?: Yardstick | null } =
    {},
): FrontEstimate {
  const known = contenders.flatMap((contender) => {
    const place = pointOf(contender.trial, spec);
    return "point" in place ? [{ contender, point: place.point }] : [];
  });
  const rivals = known.map(({ contender }) => rivalOf(contender));
  const draw = worldsOf(rivals, spec, random);
  const worlds = known.length === 0 ? [] : Array.from({ length: resamples }, draw);
  const directions = directionsOf(spec);
  const volume = (points: readonly (readonly number[])[]) =>
    hypervolume(scaled(points, yardstick!), yardstick!.reference, yardstick!.directions);
  const volumes = yardstick === null ? [] : worlds.map(volume);
  const wins = known.map(() => 0);
  const points = known.map(({ point }) => point);
  for (const world of likelyWorlds({ points, rivals, worlds }, spec, random)) {
    for (const i of paretoFront(world, directions)) wins[i]!++;
  }
  const probability = new Map(
    known.map(({ contender }, i) => [contender.trial.trial_id, wins[i]! / resamples]),
  );
  if (volumes.length === 0) return { probability, hypervolume_interval: null };
  const measured = volume(points);
  volumes.sort((a, b) => a - b);
  const [low, high] = [0.975, 0.025].map((q) => Math.max(0, 2 * measured - quantile(volumes, q)));
  return { probability, hypervolume_interval: [low!, high!] };
}
