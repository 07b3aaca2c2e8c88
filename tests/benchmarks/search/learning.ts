/** What an earlier study is worth: of another model of the family, and one that misleads. */
import { auto, type Learned } from "../../../core/mod.ts";
import { volumeOf } from "./problems/outcomes.ts";
import type { Problem } from "./problems/problem.ts";
import { misleading, relativeOf } from "./problems/relatives.ts";
import { outcomesOf } from "./run_search.ts";
import { bootstrapped } from "./search_table.ts";

/** Trials of the earlier study, and how alike it is said to be, whether it misleads or not. */
const EARLIER = { trials: 40, likeness: 0.7 };
/** Trials after which this study is looked at. */
const LOOKS = [15, 30] as const;

/** Shares of the greatest hypervolume after 15 and 30 trials, by what the study began with. */
export interface Learning {
  readonly problem: string;
  readonly seed: number;
  readonly without: readonly number[];
  readonly relative: readonly number[];
  readonly misled: readonly number[];
}

/** What a study of an earlier problem measured, as a later one is told of it. */
function learnedFrom(problem: Problem, seed: number): Learned[] {
  const sampler = { name: "auto", algorithm: auto };
  const how = { seed: 1000 + seed, trials: EARLIER.trials };
  return outcomesOf(problem, sampler, how).tried.flatMap(({ point, state, values }) =>
    state === "done" && values !== null ? [{ point, values, likeness: EARLIER.likeness }] : []
  );
}

/** Three studies of a problem: from random points, after a relative's study, after one that misleads. */
export function learningOf(problem: Problem, seed: number): Learning {
  const shares = (learned?: readonly Learned[]) => {
    const algorithm: typeof auto = (state) =>
      auto(learned === undefined ? state : { ...state, learned });
    const how = { seed, trials: LOOKS[1], ...(learned === undefined ? {} : { start: 0 }) };
    const { outcomes } = outcomesOf(problem, { name: "auto", algorithm }, how);
    return LOOKS.map((look) => volumeOf(problem, outcomes.slice(0, look)) / problem.maximum);
  };
  return {
    problem: problem.name,
    seed,
    without: shares(),
    relative: shares(learnedFrom(relativeOf(problem), seed)),
    misled: shares(learnedFrom(misleading(problem), seed)),
  };
}

const percent = (share: number) => (100 * share).toFixed(1);
const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

/** A line a problem; `rivalOf`: the best rival's mean share after 30 trials, where it is known. */
export function learningTable(
  runs: readonly Learning[],
  rivalOf: (problem: string) => number | null,
): string {
  const lines = [...Map.groupBy(runs, ({ problem }) => problem)].map(([problem, own]) => {
    const at = (what: "without" | "relative" | "misled", look: number) =>
      percent(mean(own.map((run) => run[what][look]!)));
    const differences = own.map(({ misled, without }) => misled[1]! - without[1]!);
    const [low, high] = bootstrapped(differences, `misled ${problem}`).map(percent);
    const rival = rivalOf(problem);
    const cells = [
      ...[problem, own.length, rival === null ? "–" : percent(rival)],
      ...[at("relative", 0), at("without", 0), at("relative", 1), at("without", 1)],
      ...[at("misled", 1), `${low} to ${high}`],
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| problem | seeds | best rival, 30 | relative, 15 | without, 15 | relative, 30 | without, 30 | " +
    "misled, 30 | less without |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ...lines,
  ].join("\n");
}
