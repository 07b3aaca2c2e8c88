import { appendFile, readFile } from "node:fs/promises";
import { z } from "zod";
import type { Problem } from "./problems/problem.ts";
import { maximumOf, type SearchRun } from "./run_search.ts";

/** A line of the results' file. */
const Line = z.strictObject({
  problem: z.string(),
  sampler: z.string(),
  seed: z.int(),
  trials: z.int(),
  curve: z.array(z.number()),
  suggestion_ms: z.number(),
  invalid: z.int(),
  maximum: z.number(),
});

/** The runs that are kept; a line cut short by a kill is left out. */
export async function readRuns(path: string): Promise<SearchRun[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    try {
      return line === "" ? [] : [Line.parse(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}

/** Those of the problems as they are: a run of an earlier table counts as none. */
export function runsOf(problems: readonly Problem[], runs: readonly SearchRun[]): SearchRun[] {
  const known = new Map(problems.map((problem) => [problem.name, maximumOf(problem)]));
  return runs.filter(({ problem, maximum }) => known.get(problem) === maximum);
}

/** Keeps a run: one line, behind a line's end that a kill may have left out. */
export async function keepRun(path: string, run: SearchRun): Promise<void> {
  const text = await readFile(path, "utf8").catch(() => "");
  const joint = text === "" || text.endsWith("\n") ? "" : "\n";
  await appendFile(path, `${joint}${JSON.stringify(run)}\n`);
}

/** What is to be run: one sampler on one problem with some seeds. */
export interface Job {
  readonly problem: string;
  readonly sampler: string;
  readonly seeds: readonly number[];
  readonly trials: number;
}

/** The runs that are missing, in jobs of a few seeds; of a longer run the shorter one is a part. */
export function missingJobs(
  wanted: {
    problems: readonly string[];
    samplers: readonly string[];
    seeds: readonly number[];
    trials: (sampler: string) => number;
  },
  kept: readonly SearchRun[],
  seedsAJob = 5,
): Job[] {
  const done = new Map<string, number>();
  for (const { problem, sampler, seed, trials } of kept) {
    const key = `${problem} ${sampler} ${seed}`;
    done.set(key, Math.max(done.get(key) ?? 0, trials));
  }
  const jobs: Job[] = [];
  for (const problem of wanted.problems) {
    for (const sampler of wanted.samplers) {
      const trials = wanted.trials(sampler);
      const seeds = wanted.seeds.filter((seed) =>
        (done.get(`${problem} ${sampler} ${seed}`) ?? 0) < trials
      );
      for (let at = 0; at < seeds.length; at += seedsAJob) {
        jobs.push({ problem, sampler, seeds: seeds.slice(at, at + seedsAJob), trials });
      }
    }
  }
  return jobs;
}
