import assert from "node:assert/strict";
import type { Loop } from "./loop.ts";
import { failureLine } from "./table.ts";
import { walkLoops } from "./walk_loops.ts";

/** Walks loops for some seconds from a seed's first point; every point must hold. */
export async function walksHold(
  loops: readonly Loop[],
  { seconds, seed }: { seconds: number; seed: number },
): Promise<void> {
  const states = new Map();
  const { failures } = await walkLoops({
    ...{ loops, states, seed, budget_ms: 1000 * seconds },
    onFailure: (failure) => console.log(failureLine(failure)),
  });
  for (const [name, { runs }] of states) console.log(`${name}: ${runs} points`);
  assert.deepEqual(failures.map(failureLine), []);
  const idle = loops.filter(({ name }) => (states.get(name)?.runs ?? 0) === 0);
  assert.deepEqual(idle.map(({ name }) => name), [], "no point of these was met");
}
