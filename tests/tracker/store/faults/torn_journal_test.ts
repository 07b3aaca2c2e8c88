import assert from "node:assert/strict";
import { join } from "node:path";
import type { JournalRecord } from "../../../../core/mod.ts";
import { openJournal } from "../../../../tracker/store/journal/journal.ts";
import { readJournal } from "../../../../tracker/store/journal/reader.ts";
import type { Entry } from "../../../../tracker/store/journal/record_line.ts";
import { openStore, rebuildDatabase, type Store } from "../../../../tracker/store/store.ts";
import { contents, copyStore } from "../../../fixtures/stores/contents.ts";
import { numbered } from "../../../fixtures/stores/kill_rounds.ts";
import { journalOf } from "../../../fixtures/stores/journals.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { studyRecords } from "../../../fixtures/stores/records.ts";

const RECORDS = [...studyRecords(), numbered(1), numbered(3), numbered(2)];

async function write(root: string, records: readonly JournalRecord[]): Promise<void> {
  await using store = await openStore(root, { write: true });
  await Promise.all(records.map((record) => store.record(record)));
}

async function entries(path: string): Promise<Entry[]> {
  return await Array.fromAsync(readJournal(path));
}

function recordsOf(found: readonly Entry[]): JournalRecord[] {
  return found.flatMap((entry) => entry.kind === "record" ? [entry.record] : []);
}

Deno.test("A journal cut at every byte of its last four records loses what was cut and nothing more", () =>
  inDirectory(async (root) => {
    await write(root, RECORDS);
    const path = journalOf(root);
    const whole = await Deno.readFile(path);
    const all = await entries(path);
    const first = all.at(-4)!.offset;
    for (let end = first; end < whole.length; end++) {
      await Deno.writeFile(path, whole.subarray(0, end));
      const journal = openJournal(path);
      await journal.append(numbered(7));
      await journal.close();
      const complete = all.filter((entry) => entry.next <= end).length;
      const found = await entries(path);
      assert.ok(found.every((entry) => entry.kind === "record"), `cut at ${end}`);
      assert.deepEqual(recordsOf(found), [...RECORDS.slice(0, complete), numbered(7)]);
      if (journal.torn !== null) await Deno.remove(journal.torn);
    }
  }));

/** The index of a store as it stands, and as it is when it is made anew. */
async function asItStands(store: Store): Promise<[unknown, unknown]> {
  const { caught_up, error } = await store.flush();
  assert.equal(caught_up, true, error ?? "");
  const stands = await contents(store);
  await rebuildDatabase(store);
  return [stands, await contents(store)];
}

Deno.test("An index that had read more than the cut journal holds is equal to one made anew", () =>
  inDirectory(async (directory) => {
    const used = join(directory, "used");
    await write(used, RECORDS); // closing brings the index up to the last byte
    const whole = await Deno.readFile(journalOf(used));
    const all = await entries(journalOf(used));
    // A backup put back, or a disk that lost its last blocks: at, in and between records.
    for (const [back, into] of [[1, 0], [1, 9], [3, 0], [4, 40]] as const) {
      const root = join(directory, `cut-${back}-${into}`);
      await copyStore(used, root);
      const cut = all.at(-back)!.offset + into;
      await Deno.writeFile(journalOf(root), whole.subarray(0, cut));
      await using store = await openStore(root, { write: true });
      // At once, so that the journal is longer than the index had read before the sink sees it.
      for (let n = 100; n < 112; n++) await store.record(numbered(n));
      const [stands, anew] = await asItStands(store);
      assert.deepEqual(stands, anew, `cut ${into} bytes into the record ${back} from the end`);
    }
  }));

Deno.test("A reader of a journal that was cut is not shown what was lost", () =>
  inDirectory(async (root) => {
    await write(root, RECORDS);
    const path = journalOf(root);
    await Deno.truncate(path, (await entries(path)).at(-3)!.offset);
    await using reader = await openStore(root, { write: false });
    const { rows } = await reader.query("SELECT evidence FROM alerts WHERE condition = 'counted'");
    assert.deepEqual(rows, []);
  }));
