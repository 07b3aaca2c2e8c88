import assert from "node:assert/strict";
import { sayingSeed, seeded } from "../fixtures/stores/contents.ts";
import { killRound } from "../fixtures/stores/kill_rounds.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

const ROUNDS = 80;

Deno.test(`kill -9 of a writer at ${ROUNDS} random moments loses and doubles nothing`, () =>
  inDirectory(async (directory) => {
    const random = seeded(sayingSeed());
    let kept = 0;
    let acknowledged = 0;
    let silent = 0;
    for (let round = 0; round < ROUNDS; round++) {
      // One in four while the process starts and opens the store, the others while it writes.
      const kill = round % 4 === 0 ? { started_ms: 900 * random() } : { opened_ms: 400 * random() };
      const result = await killRound(directory, kept, kill);
      acknowledged += result.acknowledged;
      if (result.acknowledged === 0) silent++;
      kept = result.kept;
    }
    console.log(
      `${ROUNDS} kills: ${acknowledged} events acknowledged, ${kept} kept, none lost or doubled; ` +
        `${silent} kills before the first event`,
    );
    assert.ok(acknowledged > 20 * ROUNDS, `the kills came too early to tell: ${acknowledged}`);
  }));
