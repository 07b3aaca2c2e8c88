/**
 * Samples that it takes to decide whether a drop is at most 0.02: the sequence of bets that pare uses,
 * beside the fixed size that resolves a distance of 0.01 with the same error, and beside the 95 %
 * interval of one look when it is looked at after every batch. Simulated, and with the answers of
 * recorded trials replayed in other orders. Beside it stands what decides sooner, with fewer
 * studies: samples drawn where the original was unsure, and what the original answered of every sample as
 * a control variate, which is what studies do. A machine's speed is in none of its figures.
 *
 *     deno task bench:deciding                   # everything simulated: 15 minutes of one core
 *     deno task bench:deciding --parts better    # one part alone: simulated, better or recorded
 *     deno task bench:deciding --store DIR       # the recorded part, of a store's full evaluations: 15 minutes
 *     deno task bench:deciding --page            # simulates nothing: the page's table of what is kept
 *     deno task bench:deciding --studies 200     # tries the benchmark itself; keeps nothing
 */
import { execa } from "execa";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { BATCH, LEVEL } from "../../../core/mod.ts";
import { withTable } from "../cells/kept_tables.ts";
import {
  type DecidingRow,
  marginRows,
  pageTable,
  predictedRow,
  recordedRows,
  rowOf,
  table,
} from "./deciding_rows.ts";
import {
  byTask,
  nearestTo,
  type RecordedTrial,
  recordedTrials,
  repeated,
} from "./recorded_trials.ts";
import { byFixedInterval, bySequence, DROPS, fixedSize, LIMIT, simulate } from "./simulate.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const KEPT = file("./deciding.json");
const PAGE = file("../../../docs/measurements/deciding.md");

/** Shares of answers that a compression changes: 8 bits, 4 bits, fewer. */
const FLIPS = [0.05, 0.1, 0.2];
const POPULATIONS = [1000, 5000];
/** What a user wants to resolve before he knows the drop. */
const DISTANCE = 0.01;
const SEED = 20261122;
const STUDIES = 10_000;

/** Which part of the table a row belongs to. */
type Part = "simulated" | "better" | "recorded";

function partOf({ source }: Pick<DecidingRow, "source">): Part {
  if (source === "simulated") return "simulated";
  return /^unsure fifths/.test(source) ? "better" : "recorded";
}

function simulatedRows(studies: number): DecidingRow[] {
  const deciders = { own: bySequence(LIMIT), looked: byFixedInterval(LIMIT) };
  return settings().map((setting) => {
    const found = simulate(setting, LIMIT, studies, SEED, deciders);
    return told(rowOf("simulated", setting, found, fixedSize(setting, DISTANCE)));
  });
}

function settings() {
  return POPULATIONS.flatMap((population) =>
    FLIPS.flatMap((flips) =>
      DROPS.filter((drop) => drop <= flips).map((drop) => ({ population, flips, drop }))
    )
  );
}

function betterRows(studies: number): DecidingRow[] {
  const half = Math.ceil(studies / 2);
  const margins = POPULATIONS.flatMap((population) =>
    DROPS.flatMap((drop) => marginRows(population, drop, half, SEED, DISTANCE).map(told))
  );
  const predicted = settings().map((setting) =>
    told(predictedRow(setting, Math.ceil(studies / 5), SEED, DISTANCE))
  );
  return [...margins, ...predicted];
}

/**
 * The recorded trials nearest to the drops that are simulated, each on as many samples as it has, and on a
 * larger benchmark of which they are typical, there on each of its tasks alone too. All others tell where
 * samples change.
 */
async function recordedOf(root: string, studies: number): Promise<DecidingRow[]> {
  const trials = await recordedTrials(root);
  return nearestTo(DROPS, trials).flatMap((trial) => {
    const others = trials.filter((one) => one !== trial);
    if (others.length === 0) return [];
    const rows = (one: RecordedTrial, beside: readonly RecordedTrial[]) =>
      recordedRows(one, beside, studies, SEED, DISTANCE).map(told);
    const larger = (one: RecordedTrial) => repeated(one, POPULATIONS.at(-1)!);
    return [
      ...[trial, larger(trial)].flatMap((one) => rows(one, others)),
      ...byTask(trial).flatMap((one) => rows(larger(one), [])),
    ];
  });
}

function told(row: DecidingRow): DecidingRow {
  console.error(table([row], false));
  return row;
}

async function writePage(rows: readonly DecidingRow[]): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, withTable(page, "deciding", pageTable(rows)));
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      studies: { type: "string", default: String(STUDIES) },
      parts: { type: "string" },
      store: { type: "string" },
      page: { type: "boolean", default: false },
    },
  });
  const { rows: kept } = JSON.parse(await readFile(KEPT, "utf8")) as { rows: DecidingRow[] };
  if (values.page) return await writePage(kept);
  const studies = Number(values.studies);
  if (!Number.isSafeInteger(studies) || studies < 1) {
    console.error(`Cannot simulate ${values.studies} studies: give a whole number from 1`);
    Deno.exit(2);
  }
  const parts = values.parts?.split(",") ??
    (values.store === undefined ? ["simulated", "better"] : ["recorded"]);
  const made = [
    ...parts.includes("simulated") ? simulatedRows(studies) : [],
    ...parts.includes("better") ? betterRows(studies) : [],
    ...parts.includes("recorded") && values.store !== undefined
      ? await recordedOf(values.store, studies)
      : [],
  ];
  const anew = new Set(made.map(partOf));
  const rows = [...kept.filter((row) => !anew.has(partOf(row))), ...made];
  console.log(
    `${studies} studies a row, without replacement, a look after every ${BATCH} samples, ` +
      `${100 * LEVEL} % for either verdict on "the drop is at most ${LIMIT}"\n`,
  );
  console.log(table(made));
  if (studies < STUDIES) return;
  const about = { studies, seed: SEED, limit: LIMIT, distance: DISTANCE, batch: BATCH };
  await writeFile(KEPT, `${JSON.stringify({ ...about, level: LEVEL, rows }, null, 1)}\n`);
  await writePage(rows);
}

if (import.meta.main) await main();
