import { join } from "node:path";
import {
  flippableStore,
  flipRecord,
  flipRound,
  kindsOfRecords,
} from "../fixtures/stores/flip_records.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

Deno.test("A flipped bit in every kind of record: nothing that the index holds is lost", () =>
  inDirectory(async (directory) => {
    const whole = join(directory, "whole");
    await flippableStore(whole);
    for (const kind of await kindsOfRecords(whole)) {
      console.log(kind.type);
      const said = new RegExp(`the journal's record at byte ${kind.from}, of .*; only the index`);
      await flipRound(whole, join(directory, kind.type), flipRecord(kind), said);
    }
  }));
