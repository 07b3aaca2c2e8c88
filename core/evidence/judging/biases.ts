import { binomialTail } from "./sign_test.ts";
import { mean } from "../statistics.ts";
import type { Estimate } from "./agreement.ts";
import { bootstrapInterval } from "./bootstrap.ts";

/** Who won a pair of answers in either order; `first`: the answer that stood first. */
export type PlaceWon = "first" | "second" | "tie";

/** How far the place of an answer tells who wins. */
export interface PositionBias {
  readonly pairs: number;
  /** Share of the pairs whose winner is the same in both orders. */
  readonly consistent: number;
  /** Of pairs that the place decided: first less second, from -1 to 1; null: none was. */
  readonly bias: number | null;
  /** Two-sided sign test of both places being alike. */
  readonly p: number | null;
}

/** Of pairs that were shown in both orders: what won in the one, and in the other. */
export function positionBias(
  pairs: readonly (readonly [PlaceWon, PlaceWon])[],
): PositionBias | null {
  if (pairs.length === 0) return null;
  const same =
    pairs.filter(([one, other]) =>
      one === "tie" ? other === "tie" : other !== "tie" && one !== other
    ).length;
  const firsts = pairs.filter(([one, other]) => one === "first" && other === "first").length;
  const seconds = pairs.filter(([one, other]) => one === "second" && other === "second").length;
  const decided = firsts + seconds;
  return {
    pairs: pairs.length,
    consistent: same / pairs.length,
    bias: decided === 0 ? null : (firsts - seconds) / decided,
    p: decided === 0 ? null : binomialTail(Math.max(firsts, seconds), decided),
  };
}

/** An answer with what the judge gave it and what it is worth by a label or a rule. */
export interface Measured {
  readonly judged: number;
  readonly worth: number;
  /** Characters. */
  readonly length: number;
}

/** The slope of y over x by least squares; null: x does not vary. */
function slope(points: readonly (readonly [number, number])[]): number | null {
  const [x, y] = [mean(points.map(([a]) => a)), mean(points.map(([, b]) => b))];
  const spread = points.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
  const both = points.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  return spread > 1e-12 ? both / spread : null;
}

/**
 * What an answer of twice the length gains with the judge beyond what it is worth: the slope of judged less
 * worth over the logarithm of its length. Null: lengths do not differ.
 */
export function lengthBias(answers: readonly Measured[], seed: number): Estimate | null {
  const of = (some: readonly Measured[]) =>
    slope(some.map(({ judged, worth, length }) => [Math.log2(1 + length), judged - worth]));
  const value = answers.length === 0 ? null : of(answers);
  return value === null ? null : { value, interval: bootstrapInterval(answers, of, seed) };
}

/** What a judge gives answers of one model beyond their worth. */
export interface Excess {
  readonly own: Estimate;
  /** The same of other models' answers, and by how much its own have more; null: there are none. */
  readonly others: Estimate | null;
  readonly more: Estimate | null;
}

type Answer = Pick<Measured, "judged" | "worth"> & { readonly own: boolean };

/** Whether a judge favours its own answers. Null: none is its own. */
export function selfPreference(answers: readonly Answer[], seed: number): Excess | null {
  const excess = (own: boolean) => (some: readonly Answer[]) => {
    const values = some.filter((one) => one.own === own).map(({ judged, worth }) => judged - worth);
    return values.length === 0 ? null : mean(values);
  };
  const more = (some: readonly Answer[]) => {
    const [mine, theirs] = [excess(true)(some), excess(false)(some)];
    return mine === null || theirs === null ? null : mine - theirs;
  };
  const estimate = (of: (some: readonly Answer[]) => number | null): Estimate | null => {
    const value = of(answers);
    return value === null ? null : { value, interval: bootstrapInterval(answers, of, seed) };
  };
  const own = estimate(excess(true));
  return own === null ? null : { own, others: estimate(excess(false)), more: estimate(more) };
}
