import assert from "node:assert/strict";
import { join } from "node:path";
import {
  flippableStore,
  flipRecord,
  flipRound,
  kindsOfRecords,
} from "../fixtures/stores/flip_records.ts";
import { WHOLE_CAMPAIGN } from "../fixtures/campaign.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

/** Kinds that every run flips, beside those of the short tests: three of those in the midst. */
const EVERY_RUN = ["trial_opened", "artifact_written", "measured", "study_closed"];

Deno.test("A flipped bit in a record of each kind: nothing that the index holds is lost", () =>
  inDirectory(async (directory) => {
    const whole = join(directory, "whole");
    await flippableStore(whole);
    const kinds = await kindsOfRecords(whole);
    const asked = kinds.filter(({ type }) => WHOLE_CAMPAIGN || EVERY_RUN.includes(type));
    assert.ok(asked.length >= EVERY_RUN.length, kinds.map(({ type }) => type).join());
    for (const kind of asked) {
      console.log(kind.type);
      const said = new RegExp(`the journal's record at byte ${kind.from}, of .*; only the index`);
      await flipRound(whole, join(directory, kind.type), flipRecord(kind), said);
    }
  }));
