import {
  hypervolume,
  paretoFront,
  type Seen,
  type SpacePoint,
  streamRandom,
} from "../../../../core/mod.ts";
import type { Problem } from "./problem.ts";

/** What became of a trial: what a sampler is shown of it, and what is true of it. */
export interface Outcome extends Omit<Seen, "point"> {
  /** The values without what a measurement adds; null: it has none, or may stand on no front. */
  readonly truth: readonly number[] | null;
}

/**
 * Tries points of a problem, one after the other. What the machine fails, and how far a measurement is off, is
 * drawn by the trial's number, so that paired runs meet the same.
 */
export function trying(problem: Problem, seed: number): (point: SpacePoint) => Outcome {
  const random = streamRandom(seed, `trouble ${problem.name}`);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return (point) => {
    const failed = random() < (problem.failures ?? 0);
    const off = problem.reference.map(normal);
    const values = problem.evaluate(point);
    if (values === null) return { state: "infeasible", values: null, truth: null };
    if (failed) return { state: "failed", values: null, truth: null };
    const violations = problem.violations?.(values);
    const allowed = violations?.every((one) => !(one > 0)) ?? true;
    const errors = problem.errors?.(values);
    return {
      state: "done",
      values: values.map((value, m) => value + (errors?.[m] ?? 0) * off[m]!),
      ...(errors === undefined ? {} : { errors }),
      ...(violations === undefined ? {} : { violations }),
      truth: allowed ? values : null,
    };
  };
}

/** What rivals are told as exceeded limits: the problem's own, else the corner where it is told. */
export function toldLimits(
  { reference, told, violations: own }: Problem,
  values: readonly number[],
): number[] {
  if (own !== undefined || told !== true) return own?.(values) ?? [];
  return values.map((value, m) => (value - reference[m]!) / Math.abs(reference[m]!));
}

/** The volume of the front that somebody picks by what was measured, judged by the truth. */
export function volumeOf({ reference }: Problem, outcomes: readonly Outcome[]): number {
  const directions = reference.map(() => "minimize" as const);
  const allowed = outcomes.filter(({ truth }) => truth !== null);
  const picked = paretoFront(allowed.map(({ values }) => values!), directions);
  return hypervolume(picked.map((i) => allowed[i]!.truth!), reference, directions);
}
