import assert from "node:assert/strict";
import { sayingSeed, seeded } from "../../../fixtures/stores/contents.ts";
import { killRound } from "../../../fixtures/stores/kill_rounds.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";

// Random moments without end are the loop `kills` of tests/faults.
Deno.test("kill -9 of a writer at six random moments loses and doubles nothing", () =>
  inDirectory(async (directory) => {
    const random = seeded(sayingSeed());
    let kept = 0;
    let acknowledged = 0;
    for (let round = 0; round < 6; round++) {
      const result = await killRound(directory, kept, { opened_ms: 250 * random() });
      acknowledged += result.acknowledged;
      kept = result.kept;
    }
    assert.ok(acknowledged > 20, `the kills came too early to tell: ${acknowledged} acknowledged`);
  }));
