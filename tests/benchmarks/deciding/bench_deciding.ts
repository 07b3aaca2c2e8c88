/**
 * Samples that it takes to decide whether a drop is at most 0.02: the sequence of bets that pare uses,
 * beside the fixed size that resolves a distance of 0.01 with the same error, and beside the 95 %
 * interval of one look when it is looked at after every batch. Simulated, and with the answers of
 * recorded trials replayed in other orders: `bench:deciding [--studies N] [--json FILE] [--store
 * DIR]`. Below stand samples drawn where the original was unsure, with half as many studies. A machine's
 * speed is in none of its figures.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { BATCH, LEVEL } from "../../../core/mod.ts";
import { byFixedInterval, bySequence, DROPS, fixedSize, LIMIT, simulate } from "./simulate.ts";
import { deciding, type DecidingRow, marginRows, rowOf, table } from "./deciding_rows.ts";
import { recordedTrials } from "./recorded_trials.ts";

/** Shares of answers that a compression changes: 8 bits, 4 bits, fewer. */
const FLIPS = [0.05, 0.1, 0.2];
const POPULATIONS = [1000, 5000];

/** What a user wants to resolve before he knows the drop. */
export const DISTANCE = 0.01;

const SEED = 20261122;

const { values } = parseArgs({
  options: {
    studies: { type: "string", default: "10000" },
    json: { type: "string" },
    store: { type: "string" },
  },
});
const studies = Number(values.studies);
if (!Number.isSafeInteger(studies) || studies < 1) {
  console.error(`Cannot simulate ${values.studies} studies: give a whole number from 1`);
  Deno.exit(2);
}
const deciders = { own: bySequence(LIMIT), looked: byFixedInterval(LIMIT) };
const rows: DecidingRow[] = [];
for (const population of POPULATIONS) {
  for (const flips of FLIPS) {
    for (const drop of DROPS.filter((one) => one <= flips)) {
      const setting = { population, flips, drop };
      const found = simulate(setting, LIMIT, studies, SEED, deciders);
      rows.push(rowOf("simulated", setting, found, fixedSize(setting, DISTANCE)));
      console.error(table([rows.at(-1)!], rows.length === 1));
    }
  }
}
for (const population of POPULATIONS) {
  for (const drop of DROPS) {
    rows.push(...marginRows(population, drop, Math.ceil(studies / 2), SEED, DISTANCE));
  }
}
for (const { name, differences } of values.store ? await recordedTrials(values.store) : []) {
  rows.push(deciding(name, differences, studies, SEED, DISTANCE));
}
console.log(
  `${studies} studies a row, without replacement, a look after every ${BATCH} samples, ` +
    `${100 * LEVEL} % for either verdict on "the drop is at most ${LIMIT}"\n`,
);
console.log(table(rows));
if (values.json !== undefined) {
  const about = {
    studies,
    seed: SEED,
    limit: LIMIT,
    distance: DISTANCE,
    batch: BATCH,
    level: LEVEL,
  };
  await writeFile(values.json, `${JSON.stringify({ ...about, rows }, null, 1)}\n`);
}
