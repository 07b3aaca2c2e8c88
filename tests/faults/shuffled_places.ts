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
