import { injecting, type Walk } from "../loop.ts";
import { inTurn, shuffledPlaces } from "../shuffled_places.ts";
import { type Mutations, mutationsOf } from "./mutations.ts";
import type { Target } from "./target.ts";

interface Place {
  readonly target: Target;
  readonly mutations: Mutations;
  readonly nth: number;
}

/** Every mutation of every file, or as many as its target bears, where the seed says. */
function placesOf(targets: readonly Target[], seed: number): Place[] {
  return targets.flatMap((target) => {
    const mutations = mutationsOf(target.bytes, seed, target.lines);
    const order = shuffledPlaces(mutations.count, seed).slice(0, target.most ?? Infinity);
    return order.map((nth) => ({ target, mutations, nth }));
  });
}

/** All files from the first points on: a short run meets each. */
export function walkBytes(
  targets: readonly Target[],
  seed: number,
  end: () => Promise<void> = () => Promise.resolve(),
): Walk {
  const places = placesOf(targets, seed);
  const order = inTurn(places.map(({ target }) => target.file), seed);
  return {
    points: places.length,
    async at(n) {
      const place = places[order[n] ?? -1];
      if (place === undefined) return undefined;
      const { target, mutations, nth } = place;
      const mutation = mutations.nth(nth);
      const { file, kind } = target;
      return await injecting({ file, call: mutation.call, kind }, () => target.check(mutation));
    },
    [Symbol.asyncDispose]: end,
  };
}
