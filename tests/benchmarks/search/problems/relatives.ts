import {
  builtPoint,
  type SpacePoint,
  streamRandom,
  unitOf,
  valueAt,
} from "../../../../core/mod.ts";
import type { Problem } from "./problem.ts";

/** By how much a figure of a relative is off at most, and how often that turns along a diagonal of the space. */
const OFF = { share: 0.15, turns: 3 };

/** The same for another model of the family: every figure is off by up to 15 %, elsewhere by another share. */
export function relativeOf(problem: Problem): Problem {
  const { name, space, reference, evaluate } = problem;
  const random = streamRandom(1, `relative ${name}`);
  const slopes = reference.map(() => space.dimensions.map(() => 2 * random() - 1));
  return {
    ...problem,
    name: `${name}_relative`,
    evaluate(point) {
      const units = space.dimensions.map((dimension) => {
        const value = point[dimension.name];
        return value === undefined ? 0.5 : unitOf(dimension, value);
      });
      const values = evaluate(point);
      return values?.map((value, m) => {
        const place = units.reduce((sum, unit, i) => sum + unit * slopes[m]![i]!, 0);
        return value * (1 + OFF.share * Math.sin(OFF.turns * place));
      }) ?? null;
    },
  };
}

/** One that misleads: what is true at one end of every knob is told of the other. */
export function misleading(problem: Problem): Problem {
  const { name, space, evaluate } = problem;
  const mirrored = (point: SpacePoint) =>
    builtPoint(space, (dimension) => {
      const value = point[dimension.name];
      return valueAt(dimension, value === undefined ? 0.5 : 1 - unitOf(dimension, value));
    });
  return {
    ...problem,
    name: `${name}_misleading`,
    evaluate: (point) => evaluate(point) === null ? null : evaluate(mirrored(point)),
  };
}
