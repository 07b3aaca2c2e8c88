/** Loops in processes of their own. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../temporary_folder.ts";
import { messages } from "./loops/messages.ts";
import { scheduler } from "./loops/scheduler.ts";
import { SideBySide } from "./side_by_side.ts";
import { type LoopState, newState, readStates } from "./state.ts";

Deno.test("loops side by side go on where they were, and all that was walked is kept", async () => {
  const path = join(temporaryFolder("faults"), "faults.json");
  // At the end of its walk but for one point.
  const states = new Map<string, LoopState>([["scheduler", {
    ...newState(7),
    ...{ next: 599, points: 600, runs: 599 },
    reached: Object.fromEntries(scheduler.reaches.map((name) => [name, 1])),
  }]]);
  const told: string[] = [];
  const seconds = await new SideBySide({
    ...{ loops: [scheduler, messages], jobs: 2, budget_ms: 3_000, seed: 5, path, states },
    tell: (line) => told.push(line),
  }).walk();
  assert.ok(seconds >= 3);
  assert.deepEqual(told, []);
  const kept = readStates(path);
  assert.deepEqual(kept, states);
  const [one, other] = [kept.get("scheduler")!, kept.get("messages")!];
  assert.ok(one.complete >= 1 && one.seed > 7 && one.runs >= 600, "a whole walk is gone on from");
  assert.ok(other.runs > 0 && other.seed >= 5);
  assert.ok(!existsSync(`${path}.scheduler`) && !existsSync(`${path}.messages`));
});
