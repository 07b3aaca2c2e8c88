import { quantile, streamRandom } from "../../../core/mod.ts";
import { EVERY, type SearchRun } from "./run_search.ts";

/** Trials at which samplers are compared. */
export const BUDGETS = [30, 60, 100, 200] as const;

const RESAMPLES = 2000;
/** Shares of hypervolume that are no further apart are a tie. */
const TIE = 1e-9;

/** The share of the hypervolume after so many trials; null: the run was shorter. */
export function shareAt({ curve }: Pick<SearchRun, "curve">, budget: number): number | null {
  return curve[budget / EVERY - 1] ?? null;
}

/** A sampler on a problem. */
export interface SamplerRow {
  readonly problem: string;
  readonly sampler: string;
  readonly seeds: number;
  /** By budget: median and quartiles of the share of the hypervolume; null: no run is so long. */
  readonly shares: Readonly<Record<number, { median: number; low: number; high: number } | null>>;
  readonly suggestion_ms: number;
  readonly invalid: number;
}

/** Two samplers on a problem, seed by seed. */
export interface PairRow {
  readonly problem: string;
  readonly ours: string;
  readonly rival: string;
  readonly budget: number;
  readonly seeds: number;
  /** Mean of ours less the rival's, with its bootstrapped 95 % interval. */
  readonly difference: number;
  readonly interval: readonly [number, number];
  readonly wins: number;
  readonly losses: number;
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

/** One row for each problem and sampler, in the order in which they were first run. */
export function samplerRows(runs: readonly SearchRun[]): SamplerRow[] {
  const groups = Map.groupBy(runs, ({ problem, sampler }) => `${problem} ${sampler}`);
  return [...groups.values()].map((own) => {
    const shares = Object.fromEntries(BUDGETS.map((budget) => {
      const found = own.flatMap((run) => shareAt(run, budget) ?? []).sort((a, b) => a - b);
      const [low, median, high] = [0.25, 0.5, 0.75].map((q) => quantile(found, q));
      return [budget, found.length === 0 ? null : { median: median!, low: low!, high: high! }];
    }));
    const { problem, sampler } = own[0]!;
    const suggestion_ms = mean(own.map((run) => run.suggestion_ms));
    const invalid = mean(own.map((run) => run.invalid));
    return { problem, sampler, seeds: own.length, shares, suggestion_ms, invalid };
  });
}

/** Percentile bootstrap of a mean over seeds. */
export function bootstrapped(values: readonly number[], label: string): [number, number] {
  const random = streamRandom(0, `bootstrap ${label}`);
  const means = Array.from(
    { length: RESAMPLES },
    () => mean(values.map(() => values[Math.floor(random() * values.length)]!)),
  )
    .sort((a, b) => a - b);
  return [quantile(means, 0.025), quantile(means, 0.975)];
}

/** The pairs of one sampler with every other, by problem and budget; seeds that both have run. */
export function pairRows(runs: readonly SearchRun[], ours: string): PairRow[] {
  const rows: PairRow[] = [];
  for (const [problem, own] of Map.groupBy(runs, (run) => run.problem)) {
    const bySampler = Map.groupBy(own, ({ sampler }) => sampler);
    const mine = new Map(bySampler.get(ours)?.map((run) => [run.seed, run]));
    for (const [rival, others] of bySampler) {
      if (rival === ours) continue;
      for (const budget of BUDGETS) {
        const differences = others.flatMap((other) => {
          const run = mine.get(other.seed);
          const [a, b] = [run && shareAt(run, budget), shareAt(other, budget)];
          return a == null || b === null ? [] : [a - b];
        });
        if (differences.length === 0) continue;
        rows.push({
          ...{ problem, ours, rival, budget, seeds: differences.length },
          difference: mean(differences),
          interval: bootstrapped(differences, `${problem} ${ours} ${rival} ${budget}`),
          wins: differences.filter((one) => one > TIE).length,
          losses: differences.filter((one) => one < -TIE).length,
        });
      }
    }
  }
  return rows;
}

const percent = (share: number) => (100 * share).toFixed(1);

/** The best rival of each problem and budget, by its median. */
export function bestRivals(
  rows: readonly SamplerRow[],
  pairs: readonly PairRow[],
  own: ReadonlySet<string>,
) {
  return [...Map.groupBy(pairs, ({ problem, budget }) => `${problem} ${budget}`).values()]
    .flatMap((group) => {
      const rated = group.filter(({ rival }) => !own.has(rival)).map((pair) => ({
        pair,
        median: rows.find(({ problem, sampler }) =>
          problem === pair.problem && sampler === pair.rival
        )?.shares[pair.budget]?.median ?? -1,
      }));
      return rated.toSorted((a, b) => b.median - a.median).slice(0, 1).map(({ pair }) => pair);
    });
}

/** The tables as markdown; `own`: samplers of this repository, which are no rivals. */
export function searchMarkdown(
  runs: readonly SearchRun[],
  { ours, own }: { ours: string | null; own: readonly string[] },
): string {
  const rows = samplerRows(runs);
  const lines: string[] = [];
  for (const [problem, group] of Map.groupBy(rows, (row) => row.problem)) {
    const seeds = [...new Set(group.map((row) => row.seeds))].sort((a, b) => a - b).join("–");
    lines.push(`### ${problem}`, "");
    lines.push(`Median share of the greatest hypervolume over ${seeds} seeds, in percent.`, "");
    lines.push(
      `| sampler | ${BUDGETS.join(" | ")} | quartiles at 100 | ms a suggestion | invalid |`,
    );
    lines.push(`|---|${BUDGETS.map(() => "---:|").join("")}---|---:|---:|`);
    for (const { sampler, shares, suggestion_ms, invalid } of group) {
      const cells = BUDGETS.map((budget) => {
        const share = shares[budget];
        return share == null ? "–" : percent(share.median);
      });
      const at = shares[100];
      const quartiles = at == null ? "–" : `${percent(at.low)} to ${percent(at.high)}`;
      const figures = [quartiles, suggestion_ms.toFixed(2), invalid.toFixed(1)];
      lines.push(`| ${[sampler, ...cells, ...figures].join(" | ")} |`);
    }
    lines.push("");
  }
  return ours === null ? lines.join("\n") : [
    ...lines,
    ...pairLines(rows, runs, ours, new Set(own)),
  ].join("\n");
}

/** Ours against the best rival of each row, as the lines of a table with its heading. */
export function pairLines(
  rows: readonly SamplerRow[],
  runs: readonly SearchRun[],
  ours: string,
  own: ReadonlySet<string>,
): string[] {
  const best = bestRivals(rows, pairRows(runs, ours), own);
  if (best.length === 0) return [];
  return [
    `### ${ours} against the best rival of each row`,
    "",
    "Mean difference over paired seeds in points of the share, with its bootstrapped 95 % interval.",
    "",
    "| problem | trials | best rival | difference | interval | wins | losses | seeds |",
    "|---|---:|---|---:|---|---:|---:|---:|",
    ...best.map(({ problem, budget, rival, difference, interval, wins, losses, seeds }) => {
      const [low, high] = interval.map(percent);
      const figures = [percent(difference), `${low} to ${high}`, wins, losses, seeds];
      return `| ${[problem, budget, rival, ...figures].join(" | ")} |`;
    }),
    "",
  ];
}
