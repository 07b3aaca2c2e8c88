/** A run's journal: what no fault touched is read, and the next record stands behind it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openJournal } from "../../../tracker/store/journal/journal.ts";
import { readJournal } from "../../../tracker/store/journal/reader.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";
import { numbered } from "../../fixtures/stores/kill_rounds.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { linesIn, type Mutation } from "./mutations.ts";
import type { Target } from "./target.ts";

/** What a journal says, and how many places of it cannot be read. */
async function read(path: string): Promise<{ read: string[]; damaged: number }> {
  const found: string[] = [];
  let damaged = 0;
  for await (const entry of readJournal(path)) {
    if (entry.kind === "record") found.push(JSON.stringify(entry.record));
    else damaged++;
  }
  return { read: found, damaged };
}

/** Records that the mutation has no part in. A newline alone costs none. */
function untouched(whole: Uint8Array, { how, from, to, bytes }: Mutation): number[] {
  const all = linesIn(whole).map(([begin, end], n) => ({ n, begin, end }));
  if (how === "double") return all.map(({ n }) => n);
  if (how === "flip" && whole[from] === 0x0a) return all.map(({ n }) => n);
  // Behind a newline that is gone the next record is found by its length, or not at all.
  const gone = bytes[to - 1] !== whole[to - 1] && whole[to - 1] === 0x0a ? to + 1 : to;
  return all.filter(({ begin, end }) => end <= from || begin >= gone).map(({ n }) => n);
}

/** A few kinds of records, and one without a checksum's worth of bytes. */
export async function journalTarget(folder: string): Promise<Target> {
  const path = join(folder, "journal.jsonl");
  const made = join(folder, "made.jsonl");
  const records = [...studyRecords().slice(1, 5), numbered(1), numbered(3), numbered(2)];
  const writer = openJournal(made);
  for (const record of records) await writer.append(record);
  await writer.close();
  const bytes = await Deno.readFile(made);
  const { read: sent } = await read(made);
  assert.equal(sent.length, records.length);
  const next = numbered(9);
  return {
    ...{ file: "runs/STUDY/journal.jsonl", bytes, lines: true, kind: "survivable" },
    async check(mutation) {
      await Deno.writeFile(path, mutation.bytes);
      const before = await read(path);
      const kept = untouched(bytes, mutation).map((n) => sent[n]!);
      // A swap's and a doubling's records are whole: only their number and order are off.
      if (mutation.how === "swap") assert.deepEqual([...before.read].sort(), [...sent].sort());
      else if (mutation.how === "double") assert.deepEqual(before.read, [...sent, sent.at(-1)]);
      else await holdInvariants({ records: { read: before.read, sent, acknowledged: kept } });
      const journal = openJournal(path); // who comes back must not cut what is whole
      await journal.append(next);
      await journal.close();
      const after = await read(path);
      const tail = before.read.length < after.read.length - 1 ? 1 : 0; // its newline alone was lost
      assert.deepEqual(after.read.slice(0, before.read.length), before.read, "a record went");
      assert.equal(
        after.read.length,
        before.read.length + 1 + tail,
        "the next record is not behind",
      );
      assert.equal(after.read.at(-1), JSON.stringify(next));
      const lost = mutation.how === "cut" ? false : sent.some((one) => !after.read.includes(one));
      if (lost) {
        assert.ok(after.damaged > 0 || journal.torn !== null, "nobody noticed what is lost");
      }
      if (journal.torn === null) return;
      sometimes("a torn tail is kept beside its journal");
      const torn = await Deno.readFile(journal.torn);
      assert.deepEqual(torn, mutation.bytes.subarray(mutation.bytes.length - torn.length));
      await Deno.remove(journal.torn);
    },
  };
}
