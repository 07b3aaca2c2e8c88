import assert from "node:assert/strict";
import { journalOf } from "../../../fixtures/stores/journals.ts";
import { join } from "node:path";
import { checkStore } from "../../../../tracker/artifacts/check_store.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import {
  flippableStore,
  flipRecord,
  flipRound,
  flipSamples,
  kindsOfRecords,
} from "../../../fixtures/stores/flip_records.ts";
import { numbered } from "../../../fixtures/stores/kill_rounds.ts";
import { pare } from "../../../fixtures/stores/pare.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { trialId } from "../../../fixtures/stores/records.ts";

// Every kind of record is flipped in the loop `records` of tests/faults.
const KINDS = ["trial_closed", "study_opened"];

Deno.test("A flipped bit in a record: what only the index holds is said, and carried over", () =>
  inDirectory(async (directory) => {
    const whole = join(directory, "whole");
    await flippableStore(whole);
    const kinds = (await kindsOfRecords(whole)).filter(({ type }) => KINDS.includes(type));
    assert.equal(kinds.length, KINDS.length);
    for (const kind of kinds) {
      const said = new RegExp(
        `journal\\.jsonl: the record at byte ${kind.from}, of .*; only the index`,
      );
      await flipRound(whole, join(directory, "flipped"), flipRecord(kind), said);
    }
  }));

Deno.test("A flipped bit in a samples file: its rows stay in the index through a rebuilding", () =>
  inDirectory(async (directory) => {
    const whole = join(directory, "whole");
    await flippableStore(whole);
    const path = `samples/${trialId(2)}.jsonl`;
    const said = new RegExp(
      `^${path} \\(${trialId(2)}\\) was changed: .*; only the index holds it`,
    );
    await flipRound(whole, join(directory, "flipped"), flipSamples(path), said);
  }));

Deno.test("pare store check of a cut journal says which side is whole; rebuild lists what it kept", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    await flippableStore(root);
    const journal = journalOf(root);
    const bytes = await Deno.readFile(journal);
    const [kind] = (await kindsOfRecords(root)).filter(({ type }) => type === "trial_closed");
    await Deno.writeFile(journal, bytes.subarray(0, kind!.from));
    const { wrong } = await checkStore(root);
    assert.match(
      wrong.join("\n"),
      /^the journal runs\/demo-1\/journal\.jsonl was cut: .* put the journal back from a copy/m,
    );
    assert.doesNotMatch(wrong.join("\n"), /rebuild/);
    await Deno.writeFile(journal, bytes);
    await flipRecord(kind!)(root);
    const { code, stdout } = await pare("store", "rebuild", "--store", root);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /1 studies, 4 trials\nkept trial_closed of demo-1\/t03, which only the index/,
    );
    assert.match(stdout, /the index before is kept as .*pare\.duckdb\.replaced-1/);
    const sql = "SELECT state FROM trials WHERE trial_id = 'demo-1/t03'";
    assert.match((await pare("sql", sql, "--store", root)).stdout, /completed/);
  }));

Deno.test("A query that only speaks of damage leaves the database where it is", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.record(numbered(1));
    const sql = "SELECT error('IO Error: Corrupt database file: checksum')";
    await assert.rejects(store.query(sql), /Corrupt database file/);
    const names = (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.includes("damaged")), []);
  }));
