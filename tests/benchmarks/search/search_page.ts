/** What the page of the search says of kept runs: its tables between their marks. */
import { quantile } from "../../../core/mod.ts";
import { EVERY, type SearchRun } from "./run_search.ts";
import { COMPRESSIONS } from "./problems/compression_problems.ts";
import { bestRivals, BUDGETS, pairLines, pairRows, samplerRows, shareAt } from "./search_table.ts";

const RECORDED = "recorded_recipes";
const MIXED = "mixed";
const SHORT_BUDGETS = [30, 60, 100] as const;

const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

const percent = (share: number) => (100 * share).toFixed(1);

/** Medians of all samplers on one problem, at every budget. */
export function problemTable(runs: readonly SearchRun[], problem: string): string {
  const rows = samplerRows(runs.filter((run) => run.problem === problem));
  const lines = rows.map(({ sampler, seeds, shares, suggestion_ms, invalid }) => {
    const cells = BUDGETS.map((budget) =>
      shares[budget] == null ? "–" : percent(shares[budget].median)
    );
    return `| ${
      [sampler, ...cells, invalid.toFixed(1), suggestion_ms.toFixed(1), seeds].join(" | ")
    } |`;
  });
  return [
    `| sampler | ${BUDGETS.join(" | ")} | invalid | ms a suggestion | seeds |`,
    `|---|${BUDGETS.map(() => "---|").join("")}---|---|---|`,
    ...lines,
  ].join("\n");
}

/** Medians after so many trials: a line a sampler, a column a problem; in brackets fewer seeds than most have. */
export function problemsTable(
  runs: readonly SearchRun[],
  problems: readonly string[],
  budget: (typeof BUDGETS)[number],
): string {
  const rows = samplerRows(runs);
  const most = Math.max(0, ...rows.map(({ seeds }) => seeds));
  const cell = (sampler: string, problem: string) => {
    const row = rows.find((one) => one.sampler === sampler && one.problem === problem);
    const share = row?.shares[budget];
    if (row === undefined || share == null) return "–";
    return percent(share.median) + (row.seeds < most ? ` (${row.seeds})` : "");
  };
  const samplers = [...new Set(rows.map(({ sampler }) => sampler))];
  return [
    `| sampler | ${problems.join(" | ")} |`,
    `|---|${problems.map(() => "---|").join("")}`,
    ...samplers.map((sampler) =>
      `| ${[sampler, ...problems.map((problem) => cell(sampler, problem))].join(" | ")} |`
    ),
  ].join("\n");
}

/** The least budget at which the median of a sampler's runs is at least a share; null: none is. */
export function trialsTo(share: number, runs: readonly SearchRun[]): number | null {
  const longest = Math.max(0, ...runs.map(({ curve }) => curve.length));
  for (let index = 0; index < longest; index++) {
    const found = runs.flatMap(({ curve }) => curve[index] ?? []).sort((a, b) => a - b);
    if (quantile(found, 0.5) >= share) return EVERY * (index + 1);
  }
  return null;
}

/** How many trials ours needs for what the best rival has after 100. */
export function halfTable(
  runs: readonly SearchRun[],
  { ours, own }: { ours: string; own: readonly string[] },
): string {
  const best = bestRivals(samplerRows(runs), pairRows(runs, ours), new Set(own))
    .filter(({ budget }) => budget === 100);
  const lines = best.map(({ problem, rival }) => {
    const of = (sampler: string) =>
      runs.filter((run) => run.problem === problem && run.sampler === sampler);
    const share = samplerRows(of(rival))[0]!.shares[100]!.median;
    const trials = trialsTo(share, of(ours));
    const longest = EVERY * Math.max(...of(ours).map(({ curve }) => curve.length));
    return `| ${[problem, rival, percent(share), trials ?? `not in ${longest}`].join(" | ")} |`;
  });
  return [
    `| problem | best rival at 100 | its share | trials of ${ours} for as much |`,
    "|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** Ours beside the best rival of each problem and budget. */
export function againstTable(
  runs: readonly SearchRun[],
  { ours, own }: { ours: string; own: readonly string[] },
): string {
  return pairLines(samplerRows(runs), runs, ours, new Set(own)).filter((line) =>
    line.startsWith("|")
  ).join("\n");
}

/** Means after 30, 60 and 100 trials on each of some problems: a line a problem and budget; in brackets few seeds. */
export function meansTable(
  runs: readonly SearchRun[],
  problems: readonly { readonly name: string; readonly tuned: boolean }[],
  samplers: readonly string[],
): string {
  const cell = (problem: string, sampler: string, budget: number) => {
    const found = runs.filter((run) => run.problem === problem && run.sampler === sampler)
      .flatMap((run) => shareAt(run, budget) ?? []);
    return found.length === 0 ? "–" : `${percent(mean(found))} (${found.length})`;
  };
  const lines = problems.flatMap(({ name, tuned }) =>
    SHORT_BUDGETS.map((budget) => {
      const cells = samplers.map((sampler) => cell(name, sampler, budget));
      return `| ${[name, tuned ? "" : "yes", budget, ...cells].join(" | ")} |`;
    })
  );
  return [
    `| problem | kept aside | trials | ${samplers.join(" | ")} |`,
    `|---|---|---:|${samplers.map(() => "---:|").join("")}`,
    ...lines,
  ].join("\n");
}

/** On how many problems ours is ahead of each rival, and where it is behind by more than the seeds' noise. */
export function aheadTable(
  runs: readonly SearchRun[],
  { ours, own }: { ours: string; own: readonly string[] },
): string {
  const pairs = pairRows(runs, ours).filter(({ rival }) => !own.includes(rival));
  const lines = [...new Set(pairs.map(({ rival }) => rival))].flatMap((rival) =>
    SHORT_BUDGETS.flatMap((budget) => {
      const rows = pairs.filter((one) => one.rival === rival && one.budget === budget);
      if (rows.length === 0) return [];
      const ahead = rows.filter(({ difference }) => difference > 0).length;
      const behind = rows.filter(({ interval, seeds }) => seeds > 2 && interval[1] < 0);
      const where = behind.map(({ problem }) => problem).join(", ");
      return [`| ${[rival, budget, rows.length, ahead, where || "–"].join(" | ")} |`];
    })
  );
  return [
    "| rival | trials | problems | ahead by the mean | behind beyond noise |",
    "|---|---:|---:|---:|---|",
    ...lines,
  ].join("\n");
}

/** The tables of docs/measurements/search.md, by their marks. */
export function pageTables(
  runs: readonly SearchRun[],
  compared: { ours: string; own: readonly string[] },
): Record<string, string> {
  const made = new Set(COMPRESSIONS.map(({ name }) => name));
  const others = runs.filter(({ problem }) =>
    problem !== RECORDED && problem !== MIXED && !made.has(problem)
  );
  const rivals = ["optuna_tpe", "optuna_tpe_group", "optuna_gp", "optuna_nsga2"];
  const problems = [...new Set(others.map(({ problem }) => problem))];
  return {
    recorded: problemTable(runs, RECORDED),
    mixed: problemTable(runs, MIXED),
    at_30: problemsTable(others, problems, 30),
    at_100: problemsTable(others, problems, 100),
    compressions: meansTable(runs, COMPRESSIONS, [compared.ours, ...rivals]),
    ahead: aheadTable(
      runs.filter(({ sampler }) => sampler === compared.ours || rivals.includes(sampler)),
      compared,
    ),
    against: againstTable(runs, compared),
    half: halfTable(runs, compared),
  };
}
