import assert from "node:assert/strict";
import { join } from "node:path";
import { openJournal } from "../../tracker/store/journal/journal.ts";
import { readJournal } from "../../tracker/store/journal/reader.ts";
import type { Entry } from "../../tracker/store/journal/record_line.ts";
import { openStore } from "../../tracker/store/store.ts";
import { sayingSeed } from "../fixtures/stores/contents.ts";
import { flipRounds } from "../fixtures/stores/flip_rounds.ts";
import { numbered } from "../fixtures/stores/kill_rounds.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

async function entries(path: string): Promise<Entry[]> {
  return await Array.fromAsync(readJournal(path));
}

Deno.test("Every byte of a journal flipped, one bit and all bits: found, and its neighbours stay", () =>
  inDirectory(async (root) => {
    const path = join(root, "journal.jsonl");
    const records = [1, 3, 2, 6].map(numbered);
    const writer = openJournal(path);
    for (const record of records) await writer.append(record);
    await writer.close();
    const whole = await Deno.readFile(path);
    const places = await entries(path);
    for (let at = 0; at < whole.length; at++) {
      for (const mask of [1 << (at % 8), 0xff]) {
        const bytes = whole.slice();
        bytes[at] = bytes[at]! ^ mask;
        await Deno.writeFile(path, bytes);
        const journal = openJournal(path); // a writer that comes back must not cut what is whole
        await journal.append(numbered(9));
        await journal.close();
        const hit = places.findIndex((entry) => at < entry.next);
        const separator = at === places[hit]!.next - 1;
        const found = await entries(path);
        const kept = found.flatMap((entry) => entry.kind === "record" ? [entry.record] : []);
        const expected = records.filter((_, n) => separator || n !== hit);
        assert.deepEqual(kept, [...expected, numbered(9)], `byte ${at} ^ ${mask}`);
        const noticed = found.some((entry) => entry.kind === "damaged") || journal.torn !== null;
        assert.ok(separator || noticed, `byte ${at} ^ ${mask} was not noticed`);
        if (journal.torn !== null) await Deno.remove(journal.torn);
      }
    }
  }));

// Each place in turn: the loop `index` of tests/faults.
for (const file of ["pare.duckdb", "pare.duckdb.wal"] as const) {
  Deno.test(`A byte flipped in ${file} at 9 random places never changes an answer`, () =>
    inDirectory(async (directory) => {
      const set_aside = await flipRounds(directory, file, 9, sayingSeed());
      assert.ok(set_aside > 0, "no flip hit what is used");
    }));
}

Deno.test("A query that only speaks of damage leaves the database where it is", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.record(numbered(1));
    const sql = "SELECT error('IO Error: Corrupt database file: checksum')";
    await assert.rejects(store.query(sql), /Corrupt database file/);
    const names = (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.includes("damaged")), []);
  }));
