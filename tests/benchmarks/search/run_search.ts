import {
  type Algorithm,
  checkPoint,
  randomPoint,
  type Seen,
  type SpacePoint,
  streamRandom,
} from "../../../core/mod.ts";
import { type Outcome, trying, volumeOf } from "./problems/outcomes.ts";
import type { Problem } from "./problems/problem.ts";

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
  /** The problem's greatest hypervolume: a table that was recorded anew is another problem. */
  readonly maximum: number;
}

/** What tells one problem from another of its name. */
export function maximumOf({ maximum }: Problem): number {
  return Number(maximum.toPrecision(8));
}

/** The start of a seed: drawn uniformly, invalid points among them. */
export function startPoints({ name, space }: Problem, seed: number): SpacePoint[] {
  const random = streamRandom(seed, `start ${name}`);
  return Array.from({ length: START }, () => randomPoint(space, random));
}

/** What a run of so many trials found, as it is kept; a space that is used up before gives nothing more. */
export function searchRun(
  problem: Problem,
  run: Pick<SearchRun, "sampler" | "seed" | "suggestion_ms">,
  outcomes: readonly Outcome[],
  trials: number,
): SearchRun {
  const curve: number[] = [];
  for (let budget = EVERY; budget <= trials; budget += EVERY) {
    const share = volumeOf(problem, outcomes.slice(0, budget)) / problem.maximum;
    curve.push(Number(share.toPrecision(5)));
  }
  const invalid = outcomes.filter(({ state }) => state === "infeasible").length;
  const maximum = maximumOf(problem);
  return { problem: problem.name, ...run, trials, curve, invalid, maximum };
}

/** How a run goes. */
export interface HowRun {
  readonly seed: number;
  /** Trials that end. */
  readonly trials: number;
  /**
   * Trials under way at once; above 1, they end in random order, and the first of them never does.
   * Default: 1, and each is told before the next is asked for.
   */
  readonly under_way?: number;
  /** Points of the start that are tried first; default: all ten. */
  readonly start?: number;
}

/** What an algorithm tried from the seed's start, in the order in which it ended. */
export function outcomesOf(
  problem: Problem,
  { name, algorithm }: { name: string; algorithm: Algorithm },
  { seed, trials, under_way = 1, start = START }: HowRun,
): { outcomes: Outcome[]; tried: Seen[]; suggestion_ms: number } {
  const { space } = problem;
  const seen: Seen[] = [];
  const outcomes: Outcome[] = [];
  const attempt = trying(problem, seed);
  const tell = (point: SpacePoint) => {
    const outcome = attempt(point);
    outcomes.push(outcome);
    const { truth: _, ...shown } = outcome;
    seen.push({ point, ...shown });
  };
  for (const point of startPoints(problem, seed).slice(0, Math.min(start, trials))) tell(point);
  const directions = problem.reference.map(() => "minimize" as const);
  const random = streamRandom(seed, `search ${problem.name}`);
  const order = streamRandom(seed, `order ${problem.name}`);
  const open: SpacePoint[] = [];
  const lost: SpacePoint[] = [];
  let spent = 0;
  let asked = 0;
  const corner = problem.told === true ? { corner: problem.reference } : {};
  const ask = (): SpacePoint | null => {
    const pending = [...lost, ...open]
      .map((point): Seen => ({ point, state: "pending", values: null }));
    const begun = performance.now();
    const shown = [...seen, ...pending];
    const made = algorithm({
      space,
      directions,
      seen: shown,
      random,
      seed,
      budget: trials,
      ...corner,
    });
    spent += performance.now() - begun;
    asked++;
    const reason = made === null ? null : checkPoint(space, made.point);
    if (reason === null) return made?.point ?? null;
    throw new Error(`${name} named what is no point of ${problem.name}: ${reason}`);
  };
  while (outcomes.length < trials) {
    while (lost.length + open.length < under_way) {
      const point = ask();
      if (point === null) break;
      (under_way > 1 && lost.length === 0 ? lost : open).push(point);
    }
    if (open.length === 0) break; // a space that is used up
    tell(open.splice(Math.floor(order() * open.length), 1)[0]!);
  }
  const suggestion_ms = asked === 0 ? 0 : spent / asked;
  return { outcomes, tried: seen, suggestion_ms };
}

/** Runs an algorithm from the seed's start. */
export function runAlgorithm(
  problem: Problem,
  sampler: { name: string; algorithm: Algorithm },
  how: HowRun,
): SearchRun {
  const { outcomes, suggestion_ms } = outcomesOf(problem, sampler, how);
  const run = { sampler: sampler.name, seed: how.seed, suggestion_ms };
  return searchRun(problem, run, outcomes, how.trials);
}
