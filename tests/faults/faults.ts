/**
 * Loops of faults: each injects at point n, recovers as the product starts, checks the invariants, n + 1.
 *
 *     deno task faults                          # 300 s, goes on where the last run stopped
 *     deno task faults --budget 8h              # a night: as many loops at once as there are cores
 *     deno task faults --budget 8h --loop bytes # one loop
 *     deno task faults --at bytes:1:117         # one point again
 *     deno task faults --fresh                  # every loop from its beginning
 *     deno task faults --planted [NAME]         # bugs planted in copies: each must be found
 *
 * Exit code 1: an invariant is broken, or a whole walk proved nothing.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { UsageError } from "../../core/mod.ts";
import { endWithRunner } from "./end_with_runner.ts";
import { findLoops, loopNamed } from "./find_loops.ts";
import type { Loop } from "./loop.ts";
import { findPlanted } from "./planted.ts";
import { SideBySide } from "./side_by_side.ts";
import { type LoopState, readStates, writeStates } from "./state.ts";
import { failureLine, reachedLines, tableLines } from "./table.ts";
import { type Failure, inTime, openWalk, walkLoops } from "./walk_loops.ts";
import { Broken } from "./loop.ts";

/** Ignored by git. */
const STATE = join(import.meta.dirname!, "../../.pare/faults.json");
const BUDGET = "300";
/** Of one sentence in one loop: what breaks at one point mostly breaks at its neighbours. */
const MOST_PRINTED = 3;

const sentenceOf = (message: string) => message.slice(0, 80).replaceAll(/[0-9a-f]{6,}|\d+/g, "#");

const SECONDS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600 };

function readBudget(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(|s|m|h)$/.exec(text) ?? [];
  if (number !== undefined) return 1000 * Number(number) * SECONDS[unit!]!;
  throw new UsageError(`Cannot read --budget ${text}: say seconds, or such as 10m or 8h`);
}

function readWhole(option: string, text: string, least: number): number {
  if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text);
  throw new UsageError(`Cannot read --${option} ${text}: say a whole number from ${least} on`);
}

/** Of a shorter run more would go to opening walks than to their points. */
const SIDE_BY_SIDE_MS = 600_000;

function readJobs({ jobs, budget, loop, "until-failure": until_failure }: Options): number {
  if (until_failure === true) return 1; // the first failure of all, which one process knows
  if (jobs !== undefined) return readWhole("jobs", jobs, 1);
  const long = readBudget(budget ?? BUDGET) >= SIDE_BY_SIDE_MS && loop?.length !== 1;
  return long ? availableParallelism() : 1;
}

async function onePoint(loops: readonly Loop[], at: string): Promise<number> {
  const [, name, seed, point] = /^([\w-]+):(\d+):(\d+)$/.exec(at) ?? [];
  if (point === undefined) {
    throw new UsageError(`Cannot read --at ${at}: say LOOP:SEED:POINT, such as bytes:1:117`);
  }
  const place = { loop: name!, seed: Number(seed), point: Number(point) };
  await using walk = await openWalk(loopNamed(loops, name!), place.seed);
  try {
    const injected = await inTime(walk.at(place.point));
    const what = injected === undefined
      ? "nothing is met there: the walk ends before"
      : `${injected.file}: ${injected.call} (${injected.kind}): the invariants hold`;
    console.log(what);
    return 0;
  } catch (error) {
    const injected = error instanceof Broken ? error.injected : null;
    console.log(failureLine({ ...place, injected, message: String(error), seconds: 0 }));
    console.log((error as Error).stack ?? "");
    return 1;
  }
}

/** Says how far the loops are. @returns the exit code */
function end(
  loops: readonly Loop[],
  states: Map<string, LoopState>,
  found: number,
  seconds: number,
) {
  const lines = [...reachedLines(loops, states), "", ...tableLines(loops, states), ""];
  console.log(lines.join("\n"));
  console.log(`${found} found in ${seconds.toFixed(0)} s; the next run goes on from here`);
  return found === 0 ? 0 : 1;
}

async function walkAtOnce(loops: readonly Loop[], jobs: number, options: Options) {
  const path = options.state ?? STATE;
  const states = options.fresh === true ? new Map<string, LoopState>() : readStates(path);
  const found = () => states.values().reduce((sum, state) => sum + state.found, 0);
  const before = found();
  const budget_ms = readBudget(options.budget ?? BUDGET);
  const seed = readWhole("seed", options.seed ?? "1", 0);
  const tell = (line: string) => console.log(line);
  const walks = new SideBySide({ loops, jobs, budget_ms, seed, path, states, tell });
  globalThis.addEventListener("unload", () => walks.keep());
  const seconds = await walks.walk();
  return end(loops, states, found() - before, seconds);
}

async function walk(loops: readonly Loop[], options: Options): Promise<number> {
  const path = options.state ?? STATE;
  const states = options.fresh === true ? new Map() : readStates(path);
  const printed = new Map<string, number>();
  const onFailure = (failure: Failure) => {
    const place = `${failure.loop}: ${sentenceOf(failure.message)}`;
    const times = (printed.get(place) ?? 0) + 1;
    printed.set(place, times);
    if (times <= MOST_PRINTED) console.log(failureLine(failure));
    if (times === MOST_PRINTED) console.log(`  more of "${place}" are counted, not printed`);
  };
  console.error = () => {}; // what the product says of each damage that it met
  const { failures, seconds } = await walkLoops({
    ...{ loops, states, onFailure, onTurn: () => writeStates(path, states) },
    budget_ms: readBudget(options.budget ?? BUDGET),
    seed: readWhole("seed", options.seed ?? "1", 0),
    until_failure: options["until-failure"] ?? false,
    until_whole: options["until-whole"] ?? false,
  });
  writeStates(path, states);
  return end(loops, states, failures.length, seconds);
}

const OPTIONS = {
  budget: { type: "string" },
  loop: { type: "string", multiple: true },
  at: { type: "string" },
  seed: { type: "string" },
  state: { type: "string" },
  fresh: { type: "boolean" },
  jobs: { type: "string" },
  "until-failure": { type: "boolean" },
  "until-whole": { type: "boolean" },
  planted: { type: "boolean" },
} as const;

type Options = ReturnType<typeof readOptions>;

function readOptions(words: string[]) {
  try {
    const { values, positionals } = parseArgs({
      ...{ args: words, options: OPTIONS, allowPositionals: words.includes("--planted") },
    });
    return { ...values, names: positionals };
  } catch (error) {
    throw new UsageError(`Cannot run the loops of faults: ${(error as Error).message}`);
  }
}

async function run(words: string[]): Promise<number> {
  const options = readOptions(words);
  if (options.planted === true) {
    return await findPlanted(options.names, options.budget ?? BUDGET) === 0 ? 0 : 1;
  }
  const all = await findLoops();
  if (options.at !== undefined) return await onePoint(all, options.at);
  const loops = options.loop?.map((name) => loopNamed(all, name)) ?? all;
  const jobs = readJobs(options);
  return jobs > 1 ? await walkAtOnce(loops, jobs, options) : await walk(loops, options);
}

if (import.meta.main) {
  endWithRunner();
  // Its folders go with it.
  Deno.addSignalListener("SIGTERM", () => Deno.exit(143));
  Deno.addSignalListener("SIGINT", () => Deno.exit(130));
  try {
    process.exitCode = await run([...Deno.args]);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
  process.exit(); // what a point that never ended still holds must not keep it
}
