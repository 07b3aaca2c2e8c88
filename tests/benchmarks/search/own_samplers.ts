import {
  type Algorithm,
  auto,
  lostShare,
  type SearchState,
  surrogate,
  tpe,
} from "../../../core/mod.ts";
import { nsga2 } from "../../../plugins/search/_nsga2.ts";
import { randomSearch } from "../../../plugins/search/random.ts";
import type { Problem } from "./problems/problem.ts";

/** The algorithms of this repository, by the names of their samplers. */
export const OWN_SAMPLERS: Readonly<Record<string, Algorithm>> = {
  random: randomSearch,
  evolution: nsga2,
  tpe,
  surrogate,
  auto,
};

/** `auto` where the model's layers were scored: no sampler that the others are compared with. */
export const SCORED = "auto_scored";
export const OWN_NAMES: readonly string[] = [...Object.keys(OWN_SAMPLERS), SCORED];

/** What the scores tell, by the share that came true so far, as a study's samplers are shown it. */
export function scoredAuto(expected: NonNullable<SearchState["expected"]>): Algorithm {
  return (state) => {
    const shares = state.directions.map((_, m) =>
      lostShare(state.seen.flatMap(({ point, values }) => {
        const told = expected(point)[m] ?? null;
        return told === null || values === null ? [] : [{ told, come: values[m]! }];
      }))
    );
    return auto({
      ...state,
      expected: (point) =>
        expected(point).map((told, m) => told === null ? null : shares[m]! * told),
    });
  };
}

/** The algorithm of a sampler's name on a problem; undefined: it is none of ours. */
export function ownAlgorithm(
  name: string,
  { name: problem, expected }: Pick<Problem, "name" | "expected">,
): Algorithm | undefined {
  if (name !== SCORED) return OWN_SAMPLERS[name];
  if (expected !== undefined) return scoredAuto(expected);
  throw new Error(`Cannot run ${name} on ${problem}: nothing is expected of its points beforehand`);
}
