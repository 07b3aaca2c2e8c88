import { streamRandom } from "../../core/mod.ts";

/** Whole numbers from 0 to `count`, it not among them, in an order that the seed says. */
export function shuffledPlaces(count: number, seed: number): number[] {
  const random = streamRandom(seed, "places");
  const places = Array.from({ length: count }, (_, n) => n);
  for (let n = count - 1; n > 0; n--) {
    const other = Math.floor((n + 1) * random());
    [places[n], places[other]] = [places[other]!, places[n]!];
  }
  return places;
}

/** Places of strata, one of each in turn as long as it has some: the first of them meet every stratum. */
export function inTurn(strata: readonly string[], seed: number): number[] {
  const left = Map.groupBy(shuffledPlaces(strata.length, seed), (place) => strata[place]!);
  const order: number[] = [];
  for (let round = 0; order.length < strata.length; round++) {
    for (const places of left.values()) {
      const place = places[round];
      if (place !== undefined) order.push(place);
      else left.delete(strata[places[0]!]!);
    }
  }
  return order;
}
