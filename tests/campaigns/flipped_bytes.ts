import assert from "node:assert/strict";
import { sayingSeed } from "../fixtures/stores/contents.ts";
import { flipRounds } from "../fixtures/stores/flip_rounds.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

const ROUNDS = 60;

for (const file of ["pare.duckdb", "pare.duckdb.wal"] as const) {
  Deno.test(`A byte flipped in ${file} at ${ROUNDS} random places never changes an answer`, () =>
    inDirectory(async (directory) => {
      const set_aside = await flipRounds(directory, file, ROUNDS, sayingSeed());
      console.log(`${file}: ${ROUNDS} flips, ${set_aside} times set aside and made anew`);
      assert.ok(set_aside > ROUNDS / 10, "hardly a flip hit what is used");
    }));
}
