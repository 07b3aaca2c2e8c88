import {
  type Algorithm,
  checkPoint,
  hypervolume,
  randomPoint,
  type Seen,
  type SpacePoint,
  streamRandom,
} from "../../../core/mod.ts";
import type { Problem } from "./problem.ts";

/** Points that every sampler begins with. */
export const START = 10;
/** The hypervolume is kept after each so many trials. */
export const EVERY = 10;

/** One run of one sampler: a line of the results. */
export interface SearchRun {
  readonly problem: string;
  readonly sampler: string;
  readonly seed: number;
  readonly trials: number;
  /** Share of the greatest hypervolume after 10, 20, 30 trials and so on. */
  readonly curve: readonly number[];
  /** Milliseconds of a suggestion: the mean of those after the start. */
  readonly suggestion_ms: number;
  readonly invalid: number;
}

/** The start of a seed: drawn uniformly, invalid points among them. */
export function startPoints({ name, space }: Problem, seed: number): SpacePoint[] {
  const random = streamRandom(seed, `start ${name}`);
  return Array.from({ length: START }, () => randomPoint(space, random));
}

/** What a run found, as it is kept. */
export function searchRun(
  problem: Problem,
  run: Pick<SearchRun, "sampler" | "seed" | "suggestion_ms">,
  values: readonly (readonly number[] | null)[],
): SearchRun {
  const directions = problem.reference.map(() => "minimize" as const);
  const curve: number[] = [];
  for (let trials = EVERY; trials <= values.length; trials += EVERY) {
    const found = values.slice(0, trials).filter((one) => one !== null);
    const share = hypervolume(found, problem.reference, directions) / problem.maximum;
    curve.push(Number(share.toPrecision(8)));
  }
  const invalid = values.filter((one) => one === null).length;
  return { problem: problem.name, ...run, trials: values.length, curve, invalid };
}

/** Runs an algorithm from the seed's start: one trial after the other, each told before the next. */
export function runAlgorithm(
  problem: Problem,
  { name, algorithm }: { name: string; algorithm: Algorithm },
  { seed, trials }: { seed: number; trials: number },
): SearchRun {
  const { space, evaluate } = problem;
  const seen: Seen[] = [];
  const values: (number[] | null)[] = [];
  const tell = (point: SpacePoint) => {
    const found = evaluate(point);
    values.push(found);
    seen.push({ point, state: found === null ? "infeasible" : "done", values: found });
  };
  for (const point of startPoints(problem, seed).slice(0, trials)) tell(point);
  const directions = problem.reference.map(() => "minimize" as const);
  const random = streamRandom(seed, `search ${problem.name}`);
  let spent = 0;
  let asked = 0;
  while (values.length < trials) {
    const begun = performance.now();
    const made = algorithm({ space, directions, seen: [...seen], random, seed, budget: trials });
    spent += performance.now() - begun;
    asked++;
    if (made === null) break; // a space that is used up
    const reason = checkPoint(space, made.point);
    if (reason !== null) {
      throw new Error(`${name} named what is no point of ${problem.name}: ${reason}`);
    }
    tell(made.point);
  }
  const suggestion_ms = asked === 0 ? 0 : spent / asked;
  return searchRun(problem, { sampler: name, seed, suggestion_ms }, values);
}
