import { randomNormal } from "../surrogate/candidates.ts";
import { normalCdf, normalPdf } from "../../evidence/numerics/normal.ts";
import { builtPoint, isActive, listed, unitOf, valueAt } from "../points.ts";
import type { Dimension, PointValue, Space, SpacePoint } from "../space.ts";

/** Width of a kernel for one point, along a scale and over choices; it shrinks as points add up. */
const WIDTH = { scale: 0.2, choice: 0.35 };

/** A density over points: a mixture with one kernel a point, and one for all of the space. */
export interface Density {
  draw(random: () => number): SpacePoint;
  /** Its logarithm, up to what a dimension's own scale adds to every density alike. */
  log(point: SpacePoint): number;
}

/** One dimension of a kernel. */
interface Edge {
  readonly dimension: Dimension;
  draw(centre: PointValue, random: () => number): PointValue;
  density(centre: PointValue, value: PointValue): number;
}

/** How likely a value is before anything is known, a real number's as a density over 0 to 1. */
function priorOf(dimension: Dimension, value: PointValue): number {
  const values = listed(dimension);
  if (values === null) return 1;
  return dimension.shares?.[values.indexOf(value)] ?? 1 / values.length;
}

/** A kernel along a scale: a normal distribution cut at its ends. */
function scaleEdge(dimension: Dimension, width: number): Edge {
  const mass = (centre: number) => normalCdf((1 - centre) / width) - normalCdf(-centre / width);
  return {
    dimension,
    draw(centre, random) {
      const from = unitOf(dimension, centre);
      for (let attempt = 0; attempt < 50; attempt++) {
        const unit = from + width * randomNormal(random);
        if (unit >= 0 && unit <= 1) return valueAt(dimension, unit);
      }
      return centre;
    },
    density(centre, value) {
      const from = unitOf(dimension, centre);
      return normalPdf((unitOf(dimension, value) - from) / width) / width / mass(from);
    },
  };
}

/** A kernel over choices: the same one, or any, the nearer ones of an order more often. */
function choiceEdge(dimension: Dimension, width: number): Edge {
  const values = listed(dimension)!;
  const astray = Math.min(0.5, width);
  const weights = (centre: PointValue) => {
    const at = values.indexOf(centre);
    const reach = 1 + width * values.length;
    const near = values.map((value, i) =>
      dimension.kind === "ordinal" ? Math.exp(-Math.abs(i - at) / reach) : priorOf(dimension, value)
    );
    const total = near.reduce((sum, one) => sum + one, 0);
    return near.map((one, i) => astray * one / total + (i === at ? 1 - astray : 0));
  };
  return {
    dimension,
    draw(centre, random) {
      let left = random();
      const found = weights(centre).findIndex((weight) => (left -= weight) < 0);
      return values[found < 0 ? values.length - 1 : found]!;
    },
    density: (centre, value) => weights(centre)[values.indexOf(value)] ?? 0,
  };
}

/**
 * The density of points like these (Bergstra et al. 2011), all dimensions of a point in one kernel: what
 * goes together stays together. A dimension that a kernel's point has no value for is as
 * before anything is known, so that conditions need no groups.
 */
export function densityOf(space: Space, points: readonly SpacePoint[]): Density {
  const most = Math.max(1, ...points.map((point) => Object.keys(point).length));
  const shrunk = (points.length + 1) ** (-1 / (4 + most));
  const edges = space.dimensions.map((dimension) =>
    listed(dimension) === null
      ? scaleEdge(dimension, WIDTH.scale * shrunk)
      : choiceEdge(dimension, WIDTH.choice * shrunk)
  );
  const edgeOf = new Map(edges.map((edge) => [edge.dimension.name, edge]));
  const anywhere = (dimension: Dimension, random: () => number) => valueAt(dimension, random());
  const logOf = (centre: SpacePoint | undefined, point: SpacePoint) => {
    let sum = 0;
    for (const { dimension, density } of edges) {
      const value = point[dimension.name];
      if (value === undefined || !isActive(dimension, point)) continue;
      const from = centre?.[dimension.name];
      sum += Math.log(from === undefined ? priorOf(dimension, value) : density(from, value));
    }
    return sum;
  };
  return {
    draw(random) {
      const centre = points[Math.floor(random() * (points.length + 1))];
      return builtPoint(space, (dimension) => {
        const from = centre?.[dimension.name];
        return from === undefined
          ? anywhere(dimension, random)
          : edgeOf.get(dimension.name)!.draw(from, random);
      });
    },
    log(point) {
      const logs = [...points, undefined].map((centre) => logOf(centre, point));
      const largest = Math.max(...logs);
      const sum = logs.reduce((total, one) => total + Math.exp(one - largest), 0);
      return largest + Math.log(sum / logs.length);
    },
  };
}
