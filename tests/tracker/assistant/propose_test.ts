/** What pare would try, asked by an assistant: answered without a timing. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { propose } from "../../../tracker/assistant/tools/planning_tools.ts";
import type { AssistantWorld } from "../../../tracker/assistant/tool.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { shareEnvironments, withVariables } from "../../python-backends/scripted_worker.ts";

Deno.test("a proposal says what would be tried, and that nothing was timed for it", () =>
  inDirectory(async (root) => {
    await shareEnvironments("default");
    const world = { stores: { roots: [join(root, "store")] }, allow_submit: false };
    const asked = { document: { model_name: "tiny", dataset: "tiny" } };
    // A machine where timings decide, as a user's.
    const told = await withVariables(
      { PARE_HOME: root, PARE_QUIET_SECONDS: "1" },
      () => propose.run(world as unknown as AssistantWorld, asked),
    ) as Record<string, unknown>; // no more is asked of it
    assert.equal(told["original_timed"], null);
    assert.ok((told["first_recipes"] as unknown[]).length > 1);
    assert.ok(!existsSync(join(root, "envs")), "no environment is made for it");
  }));
