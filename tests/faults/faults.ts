/**
 * Loops of faults: each injects at point n, recovers as the product starts, checks the invariants, n + 1.
 *
 *     deno task faults                          # 300 s, goes on where the last run stopped
 *     deno task faults --budget 8h --loop bytes # one loop
 *     deno task faults --at bytes:1:117         # one point again
 *     deno task faults --fresh                  # every loop from its beginning
 *     deno task faults --planted [NAME]         # bugs planted in copies: each must be found
 *
 * Exit code 1: an invariant is broken, or a whole walk proved nothing.
 */
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { UsageError } from "../../core/mod.ts";
import { endWithRunner } from "./end_with_runner.ts";
import { findLoops, loopNamed } from "./find_loops.ts";
import type { Loop } from "./loop.ts";
import { findPlanted } from "./planted.ts";
import { readStates, writeStates } from "./state.ts";
import { failureLine, reachedLines, tableLines } from "./table.ts";
import { type Failure, inTime, openWalk, walkLoops } from "./walk_loops.ts";
import { Broken } from "./loop.ts";

/** Ignored by git. */
const STATE = join(import.meta.dirname!, "../../.pare/faults.json");
/** Of one sentence in one loop: what breaks at one point mostly breaks at its neighbours. */
const MOST_PRINTED = 3;

const sentenceOf = (message: string) => message.slice(0, 80).replaceAll(/[0-9a-f]{6,}|\d+/g, "#");

const SECONDS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600 };

function readBudget(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(|s|m|h)$/.exec(text) ?? [];
  if (number !== undefined) return 1000 * Number(number) * SECONDS[unit!]!;
  throw new UsageError(`Cannot read --budget ${text}: say seconds, or such as 10m or 8h`);
}

function readSeed(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`Cannot read --seed ${text}: say a whole number`);
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
    budget_ms: readBudget(options.budget ?? "300"),
    seed: readSeed(options.seed ?? "1"),
    until_failure: options["until-failure"] ?? false,
  });
  writeStates(path, states);
  const lines = [...reachedLines(loops, states), "", ...tableLines(loops, states), ""];
  console.log(lines.join("\n"));
  console.log(
    `${failures.length} found in ${seconds.toFixed(0)} s; the next run goes on from here`,
  );
  return failures.length === 0 ? 0 : 1;
}

const OPTIONS = {
  budget: { type: "string" },
  loop: { type: "string", multiple: true },
  at: { type: "string" },
  seed: { type: "string" },
  state: { type: "string" },
  fresh: { type: "boolean" },
  "until-failure": { type: "boolean" },
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
    return await findPlanted(options.names, options.budget ?? "300") === 0 ? 0 : 1;
  }
  const all = await findLoops();
  if (options.at !== undefined) return await onePoint(all, options.at);
  const loops = options.loop?.map((name) => loopNamed(all, name)) ?? all;
  return await walk(loops, options);
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
