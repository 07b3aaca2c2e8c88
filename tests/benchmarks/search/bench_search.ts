/**
 * Search quality beside Optuna and pymoo on problems whose answer is known: the same start points, the same
 * handling of invalid points, paired seeds. A run is a line of the results' file; what is there is not
 * run again.
 *
 *     deno task bench:search --quick                    # two problems, three seeds: a minute
 *     deno task bench:search --workers 2                # everything, hours
 *     deno task bench:search --samplers auto --again    # one of ours anew, after it was changed
 *     deno task bench:search --table recorded.json      # another table of recipes that were really run
 *     deno task bench:search --under-way 4              # ours, results out of order, one never
 *     deno task bench:search --problems recorded_recipes --samplers auto_scored   # with layers' scores
 *     deno task bench:search --learning --seeds 10      # what an earlier study is worth, onto the page
 *     deno task bench:search --strategist http://host:8000/v1 --seeds 3 --trials 30   # a language model beside ours
 *     deno task bench:search --front                    # speed of hypervolume and ranks, onto the page
 *     deno task bench:search --page                     # runs nothing: tables and figure of what is kept
 *
 * Without --out a whole run goes on with .pare/bench-search/whole/runs.jsonl, from which --page writes
 * docs/measurements/search.md and its figure.
 */
import { execa } from "execa";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Strategist } from "../../../core/mod.ts";
import { chatEndpoint } from "../../../tracker/lab/search/chat_endpoint.ts";
import { withTable } from "../cells/kept_tables.ts";
import { CONTINUOUS } from "./problems/continuous_problems.ts";
import { frontSpeed } from "./front_speed.ts";
import { learningOf, learningTable } from "./learning.ts";
import { COMPRESSIONS } from "./problems/compression_problems.ts";
import { MIXED } from "./problems/mixed_problem.ts";
import { OWN_NAMES, OWN_SAMPLERS, ownAlgorithm, SCORED } from "./own_samplers.ts";
import type { Problem } from "./problems/problem.ts";
import { readRecordedProblem } from "./problems/recorded_problem.ts";
import { type Job, keepRun, missingJobs, readRuns, runsOf } from "./results.ts";
import { type Rival, RIVALS, rivalsPython, startRivals } from "./rivals.ts";
import { runAlgorithm, type SearchRun } from "./run_search.ts";
import { searchFigure } from "./search_figure.ts";
import { pageTables } from "./search_page.ts";
import { pairRows, samplerRows, searchMarkdown } from "./search_table.ts";
import { raceStrategist } from "./strategist_race.ts";

/** Gaussian processes take seconds a suggestion: their runs are shorter. */
const GP_TRIALS = 100;

const { values: given } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    again: { type: "boolean", default: false },
    front: { type: "boolean", default: false },
    learning: { type: "boolean", default: false },
    strategist: { type: "string" },
    model: { type: "string" },
    "own-start": { type: "boolean", default: false },
    problems: { type: "string" },
    samplers: { type: "string" },
    seeds: { type: "string" },
    trials: { type: "string" },
    workers: { type: "string", default: "1" },
    "under-way": { type: "string", default: "1" },
    ours: { type: "string" },
    table: { type: "string" },
    page: { type: "boolean", default: false },
    out: { type: "string" },
    job: { type: "string" },
  },
});

const HERE = fileURLToPath(new URL(".", import.meta.url));
const TABLE = join(HERE, "recorded_recipes.json");
/** A whole run is kept here, half a megabyte that this command makes again. */
const KEPT = ".pare/bench-search";
const WHOLE = join(KEPT, "whole");
/** What is drawn: the rivals and what is proposed without a sampler being named. */
const SHOWN = ["auto", ...RIVALS];

const say = (text: string) => console.error(`bench: ${text}`);

/** Names that are all there are, and those that only who names them means. */
function listOf(
  text: string | undefined,
  all: readonly string[],
  what: string,
  more: readonly string[] = [],
): string[] {
  if (text === undefined) return [...all];
  const names = text.split(",").filter((name) => name !== "");
  const unknown = names.find((name) => ![...all, ...more].includes(name));
  if (unknown === undefined) return names;
  console.error(`Cannot run ${what} ${unknown}: there are ${[...all, ...more].join(", ")}`);
  process.exit(2);
}

function countOf(text: string | undefined, usual: number, what: string): number {
  const count = text === undefined ? usual : Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  console.error(`Cannot run with --${what} ${text}: it is a whole number from 1`);
  process.exit(2);
}

async function problemsOf(): Promise<Problem[]> {
  const table = given.table ?? TABLE;
  try {
    return [MIXED, await readRecordedProblem(table), ...COMPRESSIONS, ...CONTINUOUS];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`Cannot use the table ${table}: ${reason}`);
    process.exit(2);
  }
}

/** One job in this process: every run is a line on its output. */
async function runJob({ problem: name, sampler, seeds, trials }: Job): Promise<void> {
  const problem = (await problemsOf()).find((one) => one.name === name)!;
  const algorithm = ownAlgorithm(sampler, problem);
  if (algorithm !== undefined) {
    for (const seed of seeds) {
      const how = { seed, trials, under_way: Number(given["under-way"]) };
      console.log(
        JSON.stringify(runAlgorithm(problem, { name: sampler, algorithm }, how)),
      );
    }
    return;
  }
  const rivals = startRivals(await rivalsPython(say));
  for (const seed of seeds) {
    const how = { seed, trials, own_start: given["own-start"] };
    console.log(JSON.stringify(await rivals.run(problem, sampler as Rival, how)));
  }
  rivals.end();
}

/** Runs jobs in processes of their own, so many at a time; a run is kept as soon as it ends. */
async function runJobs(jobs: readonly Job[], path: string, workers: number): Promise<void> {
  const left = [...jobs];
  let kept = Promise.resolve();
  const own = fileURLToPath(import.meta.url);
  const more = [
    ...(given.table === undefined ? [] : ["--table", given.table]),
    ...(given["own-start"] ? ["--own-start"] : []),
    ...["--under-way", given["under-way"]],
  ];
  const work = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) {
      const args = ["run", "--allow-all", own, "--job", JSON.stringify(job), ...more];
      const child = execa(process.execPath, args, { stderr: "inherit" });
      for await (const line of child) {
        const run = JSON.parse(line);
        kept = kept.then(() => keepRun(path, run));
      }
      await kept;
      say(`${job.problem} ${job.sampler}, seeds ${job.seeds.join(" ")}; ${left.length} jobs left`);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  await kept;
}

const DOCS = fileURLToPath(new URL("../../../docs/measurements", import.meta.url));
const PAGE = join(DOCS, "search.md");

async function writeTables(tables: Record<string, string>): Promise<void> {
  const page = Object.entries(tables).reduce(
    (text, [name, table]) => withTable(text, name, table),
    await readFile(PAGE, "utf8"),
  );
  await writeFile(PAGE, page);
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE]);
}

/** The page of the search and its figure, from kept runs. */
async function writePage(runs: readonly SearchRun[]): Promise<void> {
  await writeFile(join(DOCS, "search.svg"), `${searchFigure(runs, SHOWN)}\n`);
  await writeTables(pageTables(runs, { ours: "auto", own: OWN_NAMES }));
}

/** Speed of hypervolume and ranks, printed and onto the page: for an idle machine. */
async function timeFront(): Promise<void> {
  const table = await frontSpeed(await rivalsPython(say));
  console.log(table);
  await writeTables({ front: table });
}

/** Problems on which an earlier study is learned from; the last two are kept aside. */
const LEARNT = ["chain", "knee", "factors"];

/** What an earlier study is worth, printed and onto the page; rivals' figures are those of kept runs. */
async function compareLearning(
  known: readonly Problem[],
  kept: readonly SearchRun[],
): Promise<void> {
  const problems = known.filter(({ name }) => LEARNT.includes(name));
  const seeds = Array.from({ length: countOf(given.seeds, 10, "seeds") }, (_, i) => i);
  const runs = problems.flatMap((problem) =>
    seeds.map((seed) => {
      say(`learning on ${problem.name}, seed ${seed}`);
      return learningOf(problem, seed);
    })
  );
  const rows = samplerRows(kept).filter(({ sampler }) => !OWN_NAMES.includes(sampler));
  const table = learningTable(runs, (problem) => {
    const own = rows.filter((row) => row.problem === problem);
    return own.length === 0 ? null : Math.max(...own.map(({ shares }) => shares[30]?.median ?? 0));
  });
  console.log(table);
  await writeTables({ learning: table });
}

/** A language model beside ours, on recorded recipes unless problems are named; the key is the environment's. */
async function compareStrategist(url: string, known: readonly Problem[]): Promise<void> {
  const asked = Strategist.parse({ base_url: url, model: given.model ?? null });
  const key = process.env["STRATEGIST_API_KEY"] ?? process.env["OPENAI_API_KEY"];
  const names = listOf(given.problems ?? "recorded_recipes", known.map(({ name }) => name), "on");
  const how = {
    seeds: countOf(given.seeds, 3, "seeds"),
    trials: countOf(given.trials, 30, "trials"),
  };
  const runs: SearchRun[] = [];
  for (const name of names) {
    const chat = chatEndpoint(asked, key);
    const { ours, theirs } = await raceStrategist(
      known.find((one) => one.name === name)!,
      chat,
      how,
    );
    runs.push(...ours, ...theirs);
    const missed = theirs.reduce((sum, run) => sum + run.missed, 0);
    say(`${name}: of ${theirs.length} runs ${missed} points were drawn, as the model named none`);
  }
  console.log(searchMarkdown(runs, { ours: "auto", own: OWN_NAMES }));
}

/** What tells runs apart that are not compared: a folder of each. */
function kindOf(underWay: number): string {
  if (given["own-start"]) return "own-start";
  if (underWay > 1) return `under-way-${underWay}`;
  return given.quick ? "quick" : given.table === undefined ? "whole" : "table";
}

async function main(): Promise<void> {
  const known = await problemsOf();
  const keptRuns = async (path: string) => runsOf(known, await readRuns(path));
  if (given.page) return await writePage(await keptRuns(join(WHOLE, "runs.jsonl")));
  if (given.job !== undefined) return await runJob(JSON.parse(given.job));
  if (given.front) return await timeFront();
  if (given.strategist !== undefined) return await compareStrategist(given.strategist, known);
  if (given.learning) {
    return await compareLearning(known, await keptRuns(join(WHOLE, "runs.jsonl")));
  }
  const problems = known.map(({ name }) => name);
  const own = Object.keys(OWN_SAMPLERS);
  const underWay = countOf(given["under-way"], 1, "under-way");
  const trials = countOf(given.trials, given.quick ? 60 : 200, "trials");
  const wanted = {
    problems: listOf(
      given.problems ?? (given.quick ? "mixed,dtlz2_d6" : undefined),
      problems,
      "on",
    ),
    samplers: listOf(
      given.samplers ?? (given.quick ? "random,evolution,optuna_random,optuna_tpe" : undefined),
      underWay > 1 ? own : [...own, ...RIVALS],
      "the sampler",
      [SCORED],
    ),
    seeds: Array.from({ length: countOf(given.seeds, given.quick ? 3 : 20, "seeds") }, (_, i) => i),
    trials: (sampler: string) => sampler === "optuna_gp" ? Math.min(GP_TRIALS, trials) : trials,
  };
  const folder = given.out ?? join(KEPT, kindOf(underWay));
  await mkdir(folder, { recursive: true });
  const path = join(folder, "runs.jsonl");
  if (given.again) {
    const kept = (await keptRuns(path)).filter(({ problem, sampler }) =>
      !wanted.samplers.includes(sampler) || !wanted.problems.includes(problem)
    );
    await writeFile(path, kept.map((run) => `${JSON.stringify(run)}\n`).join(""));
  }
  const jobs = missingJobs(wanted, await keptRuns(path));
  if (jobs.length > 0) {
    if (jobs.some(({ sampler }) => !OWN_NAMES.includes(sampler))) await rivalsPython(say);
    await runJobs(jobs, path, countOf(given.workers, 1, "workers"));
  }
  const runs = await keptRuns(path);
  const ours = given.ours ?? ("auto" in OWN_SAMPLERS ? "auto" : null);
  const markdown = searchMarkdown(runs, { ours, own: OWN_NAMES });
  console.log(markdown);
  if (folder === WHOLE) return await writePage(runs);
  const pairs = ours === null ? [] : pairRows(runs, ours);
  const summary = { samplers: samplerRows(runs), pairs };
  await writeFile(join(folder, "summary.json"), JSON.stringify(summary, null, 1) + "\n");
  await writeFile(join(folder, "summary.md"), markdown);
}

await main();
