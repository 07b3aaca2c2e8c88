import type { Space, SpacePoint } from "../../../../core/mod.ts";

/** A search problem whose answer is known: everything is to be minimised. */
export interface Problem {
  readonly name: string;
  readonly space: Space;
  /** Corner of the hypervolume. */
  readonly reference: readonly number[];
  /**
   * Whether samplers are told that corner, as a study has one by the original's figures and the user's limits: ours as
   * the corner, the others as a limit on each objective.
   */
  readonly told?: boolean;
  /** The hypervolume of the true front. */
  readonly maximum: number;
  /** Samplers may be tuned on it; the others are kept aside and only reported. */
  readonly tuned: boolean;
  /** Null: an invalid point, which counts against the budget all the same. */
  evaluate(point: SpacePoint): number[] | null;
  /** What formulas tell of a point beforehand, by objective; absent: none does. */
  expected?(point: SpacePoint): (number | null)[];
  /** By how much limits are exceeded, above 0: broken; such a point is on no front. Absent: no limits. */
  violations?(values: readonly number[]): number[];
  /** Standard errors of what a trial measures; absent: it measures the values themselves. */
  errors?(values: readonly number[]): number[];
  /** Share of the trials that the machine fails; absent: none. */
  readonly failures?: number;
}

/** A space of so many real numbers from `minimum` to `maximum`. */
export function realSpace(count: number, minimum = 0, maximum = 1): Space {
  return {
    dimensions: Array.from(
      { length: count },
      (_, i) => ({ name: `x${i}`, kind: "real" as const, minimum, maximum }),
    ),
  };
}

/** The numbers of a point of such a space. */
export function numbersOf({ dimensions }: Space, point: SpacePoint): number[] {
  return dimensions.map(({ name }) => Number(point[name]));
}
