import type { SampleResult } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import { quantile } from "../evidence/statistics.ts";
import type { Comparable } from "./comparable.ts";
import { type Rival, worldsOf } from "./front_worlds.ts";
import { hypervolume } from "./hypervolume.ts";
import { directionsOf, pointOf, scaled, type Yardstick } from "./objectives.ts";
import { paretoFront } from "./pareto.ts";

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
 * How probable it is that each trial belongs on the front: the share of worlds (`worldsOf`) in which
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
  const draw = worldsOf(known.map(({ contender }) => rivalOf(contender)), spec, random);
  const directions = directionsOf(spec);
  const wins = known.map(() => 0);
  const volumes: number[] = [];
  const volume = (points: readonly (readonly number[])[]) =>
    hypervolume(scaled(points, yardstick!), yardstick!.reference, yardstick!.directions);
  for (let world = 0; world < resamples && known.length > 0; world++) {
    const points = draw();
    const front = paretoFront(points, directions);
    for (const i of front) wins[i]!++;
    if (yardstick !== null) volumes.push(volume(front.map((i) => points[i]!)));
  }
  const probability = new Map(
    known.map(({ contender }, i) => [contender.trial.trial_id, wins[i]! / resamples]),
  );
  if (volumes.length === 0) return { probability, hypervolume_interval: null };
  const measured = volume(known.map(({ point }) => point));
  volumes.sort((a, b) => a - b);
  const [low, high] = [0.975, 0.025].map((q) => Math.max(0, 2 * measured - quantile(volumes, q)));
  return { probability, hypervolume_interval: [low!, high!] };
}
