/** Optuna's own environment, made from its pins in an empty home, and asked there. */
import assert from "node:assert/strict";
import { createBackendClient } from "../../python-backends/client.ts";
import { SKIPPED } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";

Deno.test("the environment of --sampler optuna is made where it is first asked for, and proposes", async () => {
  const client = createBackendClient({ home: temporaryFolder("optuna") });
  try {
    const outcome = await client.run({
      ...{ call: "suggest", seed: 1, count: 2, directions: ["minimize"], seen: [] },
      dimensions: [{
        ...{ name: "share", kind: "real", minimum: 0, maximum: 1 },
        ...{ log: false, choices: null, when: null },
      }],
    }, { environment: "optuna" });
    if (!outcome.ok && outcome.failure.kind === "missing_environment") {
      console.log(`${SKIPPED}Optuna's environment cannot be made: ${outcome.failure.message}`);
      return;
    }
    assert.ok(outcome.ok, outcome.ok ? "" : outcome.failure.message);
    assert.equal(outcome.value.points.length, 2);
  } finally {
    await client.close();
  }
});
