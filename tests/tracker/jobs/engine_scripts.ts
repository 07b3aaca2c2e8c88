/** Short lives of jobs on an engine: the same ones happen in the simulator, and on engines that really run. */
import { setTimeout as delay } from "node:timers/promises";
import type { Engine, EngineState } from "../../../core/jobs/engine.ts";
import type { AttemptSeen } from "../../../core/jobs/ports.ts";
import { seenAttempt } from "../../../tracker/jobs/attempt/attempt_state.ts";
import { closeAttempt, readLease, watchLeases } from "../../../tracker/jobs/attempt/lease.ts";
import { attemptOf, driving, type EngineWorld } from "./engine_cases.ts";

/** What is done to a job, and when: `killed` is its wrapper, `room` what held its slots. */
type Step =
  | "closed"
  | "submitted"
  | "queued"
  | "running"
  | "ended"
  | "saved"
  | "cancelled"
  | "killed"
  | "room";

export interface Script {
  /** `short` ends by itself; `long` heeds a save, `deaf` does not. */
  readonly program: "short" | "broken" | "bad input" | "long" | "deaf";
  readonly steps: readonly Step[];
  /** What is seen of it in the end. */
  readonly seen: string;
}

const DONE = "ended: exit 0, done, stale";
const SAVED = "ended: exit 0, saved, stale";
const CANCELLED = "ended: cancelled, cancelled, stale";
const NEVER = "ended: cancelled, nothing, none";
const LOST = "ended: lost, nothing, stale";

/** Twenty, with what SLURM 22.05, Ray 2.60.0 and this machine's own slots were seen to do. */
export const SCRIPTS: readonly Script[] = [
  { program: "short", steps: ["submitted"], seen: DONE },
  { program: "broken", steps: ["submitted"], seen: "ended: exit 1, failed, stale" },
  { program: "bad input", steps: ["submitted"], seen: "ended: exit 2, failed, stale" },
  { program: "short", steps: ["queued", "room"], seen: DONE },
  { program: "short", steps: ["queued", "submitted", "room"], seen: DONE },
  { program: "short", steps: ["queued", "cancelled", "room"], seen: NEVER },
  { program: "long", steps: ["queued", "saved", "room"], seen: NEVER },
  { program: "short", steps: ["closed", "submitted"], seen: "ended: cancelled, nothing, closed" },
  { program: "short", steps: ["submitted", "submitted"], seen: DONE },
  { program: "short", steps: ["submitted", "ended", "submitted"], seen: DONE },
  { program: "short", steps: ["submitted", "ended", "saved"], seen: DONE },
  {
    program: "broken",
    steps: ["submitted", "ended", "cancelled"],
    seen: "ended: exit 1, failed, stale",
  },
  { program: "long", steps: ["running", "saved"], seen: SAVED },
  { program: "long", steps: ["running", "saved", "saved"], seen: SAVED },
  { program: "long", steps: ["running", "submitted", "saved"], seen: SAVED },
  { program: "long", steps: ["running", "cancelled"], seen: CANCELLED },
  { program: "long", steps: ["running", "cancelled", "cancelled"], seen: CANCELLED },
  { program: "deaf", steps: ["running", "saved", "cancelled"], seen: CANCELLED },
  { program: "long", steps: ["running", "killed"], seen: LOST },
  { program: "long", steps: ["running", "killed", "submitted"], seen: LOST },
];

/** What is seen of an attempt, in one line. */
export function seenLine(state: EngineState, { result, lease }: AttemptSeen): string {
  const exit = state.state === "ended" && state.how === "exit" ? ` ${state.code}` : "";
  const how = state.state === "ended" ? `: ${state.how}${exit}` : "";
  return `${state.state}${how}, ${result?.how ?? "nothing"}, ${lease}`;
}

const LINES: Readonly<Record<Script["program"], string>> = {
  short: "exit 0",
  broken: "exit 1",
  "bad input": "exit 2",
  long: "trap 'exit 0' INT; echo ready; while :; do sleep 0.1; done",
  deaf: "trap '' INT; echo ready; while :; do sleep 0.1; done",
};

/** Lives a script through on an engine that runs. */
export async function really(world: EngineWorld, { program, steps }: Script): Promise<string> {
  const { engine, said, when, end } = driving(world);
  const attempt = attemptOf(world, LINES[program]);
  const { folder } = attempt;
  const { cpu } = (await engine.capacity()).total;
  let holder: string | null = null;
  const doing: Record<Step, () => Promise<unknown>> = {
    closed: () => Promise.resolve(closeAttempt(folder)),
    submitted: () => engine.submit(attempt),
    async queued() {
      const slots = { cpu, gpu: 0, memory_gb: null };
      holder = await engine.submit(attemptOf(world, LINES.long, { slots }));
      await when(holder, "running");
      await engine.submit(attempt);
      await when(folder, "queued");
    },
    async running() {
      await engine.submit(attempt);
      await said(folder, "ready");
    },
    ended: () => when(folder, "ended"),
    saved: () => engine.save(folder),
    cancelled: () => engine.cancel(folder),
    killed: () => Promise.resolve(Deno.kill(readLease(folder)!.pid, "SIGKILL")),
    async room() {
      await engine.cancel(holder!);
      await end(holder!);
    },
  };
  for (const step of steps) await doing[step]();
  await when(folder, "ended");
  await delay(1000); // what begins again would do it now
  const state = (await (engine as Engine).states([folder])).get(folder)!;
  return seenLine(state, seenAttempt(folder, watchLeases()));
}
