/** How far the loops are, kept so that the next run goes on where the last one stopped. */
import { dirname } from "node:path";
import { mkdirSync } from "node:fs";
import { z } from "zod";
import { writeWhole } from "../../python-backends/whole_file.ts";

const Failing = z.object({ seed: z.int(), point: z.int() });

/** How far one loop is. */
const LoopState = z.object({
  /** The seed whose walk is under way, and its next point. */
  seed: z.int(),
  next: z.int(),
  /** Points of that walk; null: nobody knows yet. */
  points: z.int().nullable(),
  /** Walks that met their end. */
  complete: z.int(),
  /** Points of all walks. */
  runs: z.int(),
  /** Points that broke an invariant. */
  found: z.int(),
  last_failing: Failing.nullable(),
  /** What `sometimes` counted in the walk under way. */
  reached: z.record(z.string(), z.int()),
  /** Of its last run. */
  date: z.string(),
});
export type LoopState = z.infer<typeof LoopState>;

const States = z.object({ version: z.literal(1), loops: z.record(z.string(), LoopState) });

export function newState(seed: number): LoopState {
  return {
    ...{ seed, next: 0, points: null, complete: 0, runs: 0, found: 0 },
    ...{ last_failing: null, reached: {}, date: "" },
  };
}

/** States by the loops' names; none where the file lacks or another version wrote it. */
export function readStates(path: string): Map<string, LoopState> {
  try {
    return new Map(Object.entries(States.parse(JSON.parse(Deno.readTextFileSync(path))).loops));
  } catch {
    return new Map();
  }
}

export function writeStates(path: string, states: ReadonlyMap<string, LoopState>): void {
  mkdirSync(dirname(path), { recursive: true });
  writeWhole(path, { version: 1, loops: Object.fromEntries(states) });
}
