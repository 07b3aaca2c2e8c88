/** A value of one dimension. */
export type PointValue = number | string | boolean;

/**
 * One thing that a search may choose. `when`: it exists only where another dimension, before it in the
 * list and itself active, has one of these values.
 */
export interface Dimension {
  readonly name: string;
  readonly kind: "real" | "integer" | "ordinal" | "choice";
  /** Both included; of `real` and `integer`. */
  readonly minimum?: number;
  readonly maximum?: number;
  /** Searched by its logarithm. */
  readonly log?: boolean;
  /** Of `ordinal`, in order, and of `choice`. */
  readonly choices?: readonly PointValue[];
  /** How often each choice is drawn where nothing is known; they sum to 1. Absent: all alike. */
  readonly shares?: readonly number[];
  /** What it is where nobody says otherwise; absent: nothing is usual. */
  readonly default?: PointValue;
  readonly when?: { readonly name: string; readonly is: readonly PointValue[] };
}

/** A value for every active dimension and for no other. */
export type SpacePoint = Readonly<Record<string, PointValue>>;

/** What a search may choose from. */
export interface Space {
  readonly dimensions: readonly Dimension[];
  /** Why a point that every dimension allows cannot be: a forbidden combination. Null: it can. */
  forbidden?(point: SpacePoint): string | null;
}

/** A point that was proposed before, whatever became of it. */
export interface Seen {
  readonly point: SpacePoint;
  /**
   * `done`: its values are measured. `stopped`: it was ended early, and its values, where there are any,
   * are of a lower rung. `infeasible`: it cannot be or failed by itself. `failed`: the machine failed.
   * `pending`: it is under way.
   */
  readonly state: "done" | "stopped" | "infeasible" | "failed" | "pending";
  /** One value an objective, in their order; null: not measured. */
  readonly values: readonly number[] | null;
  /** Standard errors of the values; absent: exact. */
  readonly errors?: readonly number[];
  /** By how much constraints are exceeded: above 0 is violated; absent: there are none. */
  readonly violations?: readonly number[];
}

/** A point that an earlier study measured, with the values that it would have here if all were alike. */
export interface Learned {
  readonly point: SpacePoint;
  readonly values: readonly number[];
  /** Of its study to this one, from 0 to 1. */
  readonly likeness: number;
}

/** What a search algorithm is asked with. It keeps nothing between two askings. */
export interface SearchState {
  readonly space: Space;
  readonly directions: readonly ("minimize" | "maximize")[];
  readonly seen: readonly Seen[];
  /** Objectives that are known of a point before it is tried, such as bytes; null: this one is not. */
  known?(point: SpacePoint): readonly (number | null)[];
  /**
   * What objectives would be if nothing but formulas told of them, such as a latency by the bytes that are
   * read; null: no formula tells. A model learns what is measured beyond it.
   */
  expected?(point: SpacePoint): readonly (number | null)[];
  /** Beyond which nothing counts, by objective, such as the original's bytes, or a limit; absent: nobody says. */
  readonly corner?: readonly number[];
  /** What earlier studies of like models measured; a model takes it as far as it explains what is measured here. */
  readonly learned?: readonly Learned[];
  /**
   * Points one step from one that was measured, a list for each kind of step, by whoever knows what its values
   * mean; absent: nobody does.
   */
  near?(point: SpacePoint): readonly (readonly SpacePoint[])[];
  /** Whether a point is worth a trial while too little is measured for a model; absent: every one is. */
  worthwhile?(point: SpacePoint): boolean;
  /** Points to try first, best first: seeds, priors, results of earlier studies. */
  readonly initial?: readonly SpacePoint[];
  /** How many points will be tried in all, as far as anybody knows. */
  readonly budget?: number;
  /** Of the study: the same at every asking, where `random` goes on. Absent: 0. */
  readonly seed?: number;
  /** Uniform in [0, 1); the only randomness there is. */
  readonly random: () => number;
}

/** The next point, and why; null: nothing is left to try. */
export interface Suggestion {
  readonly point: SpacePoint;
  readonly mode: "explore" | "exploit";
  readonly reason: string;
}

/** A search algorithm: pure, deterministic in what it is given. */
export type Algorithm = (state: SearchState) => Suggestion | null;
