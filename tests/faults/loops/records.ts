/** A bit of a record of each kind: the index holds what it said, and a new index has it from there. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { streamRandom } from "../../../core/random.ts";
import {
  flippableStore,
  flipRecord,
  flipRound,
  kindsOfRecords,
} from "../../fixtures/stores/flip_records.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";

/** Bits of each kind. */
const BITS = 20;

export const records: Loop = {
  name: "records",
  about: "a bit of a record of each kind flipped: what the index holds is carried over",
  reaches: ["records: a bit of every kind was flipped"],
  async open(seed, folder) {
    const whole = join(folder, "whole");
    mkdirSync(whole);
    await flippableStore(whole);
    const kinds = await kindsOfRecords(whole);
    if (kinds.length <= 10) throw new Error(`${kinds.length} kinds are recorded, and all are due`);
    const points = BITS * kinds.length;
    return {
      points,
      async at(n) {
        const kind = kinds[n % kinds.length];
        if (n >= points || kind === undefined) return undefined;
        const { type, from } = kind;
        // Behind its length and checksum, and before its newline, without which no record is lost.
        const share = 0.3 + 0.65 * streamRandom(seed, `records ${n}`)();
        const said = new RegExp(
          `journal\\.jsonl: the record at byte ${from}, of .*; only the index`,
        );
        const call = `bit ${n % 8} at ${(100 * share).toFixed(1)} % of a record ${type} flipped`;
        return await injecting({ file: "journal.jsonl", call, kind: "survivable" }, async () => {
          await flipRound(whole, join(folder, "flipped"), flipRecord(kind, share, n % 8), said);
          if (n === kinds.length - 1) sometimes("records: a bit of every kind was flipped");
        });
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
