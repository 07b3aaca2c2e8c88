import {
  builtPoint,
  checkPoint,
  hypervolume,
  paretoFront,
  randomPoint,
  type SpacePoint,
  streamRandom,
  unitOf,
  valueAt,
} from "../../../../core/mod.ts";
import type { Problem } from "./problem.ts";

/** How far the front is thinned: what is dominated leaves after so many points. */
const SWEEP = 500;

/** The greatest hypervolume that moves of what was best find: three in four change one or two values of it. */
export function bestKnown(problem: Problem, points: number, seed = 1): number {
  const { space, reference, evaluate, violations } = problem;
  const random = streamRandom(seed, `best ${problem.name}`);
  const directions = reference.map(() => "minimize" as const);
  let front: { point: SpacePoint; values: number[] }[] = [];
  const moved = (from: SpacePoint): SpacePoint => {
    const other = front[Math.floor(random() * front.length)]!.point;
    const crossing = random() < 0.25;
    const changes = 1.5 / Object.keys(from).length;
    return builtPoint(space, (dimension) => {
      const value = (crossing && random() < 0.5 ? other : from)[dimension.name] ??
        from[dimension.name] ?? valueAt(dimension, random());
      if (random() >= changes) return value;
      const near = unitOf(dimension, value) + 0.2 * (random() - 0.5);
      const unit = random() < 0.5 ? random() : Math.min(1, Math.max(0, near));
      return valueAt(dimension, unit);
    });
  };
  const sweep = () => {
    front = paretoFront(front.map(({ values }) => values), directions).map((i) => front[i]!);
  };
  for (let tried = 0; tried < points; tried++) {
    const fresh = front.length === 0 || tried < points / 20;
    const point = fresh
      ? randomPoint(space, random)
      : moved(front[Math.floor(random() * front.length)]!.point);
    const values = checkPoint(space, point) === null ? evaluate(point) : null;
    const inside = values?.every((value, m) => value < reference[m]!) ?? false;
    const allowed = inside && (violations?.(values!) ?? []).every((one) => one <= 0);
    if (values !== null && allowed) front.push({ point, values });
    if (tried % SWEEP === 0) sweep();
  }
  sweep();
  return hypervolume(front.map(({ values }) => values), reference, directions);
}
