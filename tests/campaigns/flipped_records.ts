import assert from "node:assert/strict";
import { join } from "node:path";
import {
  flippableStore,
  flipRecord,
  flipRound,
  kindsOfRecords,
} from "../fixtures/stores/flip_records.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

Deno.test("A flipped bit in a record of each kind: nothing that the index holds is lost", () =>
  inDirectory(async (directory) => {
    const whole = join(directory, "whole");
    await flippableStore(whole);
    const kinds = await kindsOfRecords(whole);
    assert.ok(kinds.length > 10, kinds.map(({ type }) => type).join());
    for (const kind of kinds) {
      console.log(kind.type);
      const said = new RegExp(
        `journal\\.jsonl: the record at byte ${kind.from}, of .*; only the index`,
      );
      await flipRound(whole, join(directory, kind.type), flipRecord(kind), said);
    }
  }));
