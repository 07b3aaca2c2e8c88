import { seededRandom } from "../../../core/mod.ts";
import type { Algorithm, SearchState, Seen, Space, SpacePoint } from "../../../core/mod.ts";

/** A problem small enough for milliseconds; all objectives are minimised. */
export interface Problem {
  readonly space: Space;
  readonly objectives: number;
  /** Null: the point cannot be. */
  values(point: SpacePoint): readonly number[] | null;
}

/** Error against size, as compressing has it: conditions, a choice, an order, a scale, what cannot be. */
export const recipes: Problem = {
  objectives: 2,
  space: {
    dimensions: [
      { name: "method", kind: "choice", choices: ["none", "plain", "solved"] },
      {
        name: "bits",
        kind: "ordinal",
        choices: [2, 3, 4, 8],
        when: { name: "method", is: ["plain", "solved"] },
      },
      {
        name: "samples",
        kind: "integer",
        minimum: 16,
        maximum: 512,
        log: true,
        when: { name: "method", is: ["solved"] },
      },
      { name: "sparsity", kind: "real", minimum: 0, maximum: 0.6 },
    ],
  },
  values(point) {
    const { method, sparsity } = point as { method: string; sparsity: number };
    if (method === "solved" && point["bits"] === 8) return null;
    const bits = method === "none" ? 16 : Number(point["bits"]);
    const few = method === "solved" ? 0.5 + Math.exp(-Number(point["samples"]) / 100) : 1;
    return [4 ** -bits * 4 * few + sparsity ** 3, bits / 16 * (1 - sparsity / 2)];
  },
};

/** Two hills on a square: the front lies between their tops. */
export const square: Problem = {
  objectives: 2,
  space: {
    dimensions: ["x", "y"].map((name) => ({ name, kind: "real", minimum: 0, maximum: 1 })),
  },
  values({ x, y }) {
    const [a, b] = [Number(x), Number(y)];
    return [(a - 0.2) ** 2 + (b - 0.3) ** 2, (a - 0.8) ** 2 + (b - 0.6) ** 2];
  },
};

/** What a state needs that tells nothing. */
export function stateOf(
  { space, objectives }: Problem,
  seen: readonly Seen[] = [],
  more: Partial<SearchState> = {},
): SearchState {
  const directions = Array.from({ length: objectives }, () => "minimize" as const);
  return { space, directions, seen, random: seededRandom(1), ...more };
}

/** A point as it was seen. */
export function tried({ values }: Problem, point: SpacePoint): Seen {
  const found = values(point);
  return { point, state: found === null ? "infeasible" : "done", values: found };
}

/** Everything that an algorithm tries in a problem, in order. */
export function search(
  algorithm: Algorithm,
  problem: Problem,
  trials: number,
  more: Partial<SearchState> = {},
): Seen[] {
  const random = seededRandom(7);
  const seen: Seen[] = [];
  while (seen.length < trials) {
    const made = algorithm(stateOf(problem, seen, { random, ...more }));
    if (made === null) break;
    seen.push(tried(problem, made.point));
  }
  return seen;
}
