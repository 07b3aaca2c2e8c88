import { streamRandom } from "../../random.ts";
import { quantile } from "../statistics.ts";

const DRAWS = 1000;
/** Below so many answers a bootstrap only repeats what it was given. */
const LEAST = 5;
/** Of the draws that must have a value. */
const DEFINED = 0.9;

/**
 * The 95 % interval of a statistic by drawing the answers again, with replacement (percentiles). Null: too
 * few answers, or a statistic that most draws do not have.
 */
export function bootstrapInterval<T>(
  items: readonly T[],
  statistic: (drawn: readonly T[]) => number | null,
  seed: number,
): [number, number] | null {
  const n = items.length;
  if (n < LEAST) return null;
  const random = streamRandom(seed, "bootstrap");
  const found: number[] = [];
  for (let draw = 0; draw < DRAWS; draw++) {
    const value = statistic(Array.from({ length: n }, () => items[Math.floor(random() * n)]!));
    if (value !== null && Number.isFinite(value)) found.push(value);
  }
  if (found.length < DEFINED * DRAWS) return null;
  found.sort((a, b) => a - b);
  return [quantile(found, 0.025), quantile(found, 0.975)];
}
