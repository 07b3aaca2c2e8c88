/** What SLURM's programs print, of any version of the last ten years: texts of chosen columns, no JSON. */
import type { EngineState, Slots } from "../../../../core/jobs/engine.ts";
import { minus, NO_SLOTS, plus } from "../../../../core/jobs/slots.ts";
import { largestOf } from "../slots.ts";

/** Columns of squeue: no name of ours holds the bar, and a folder stands last. */
export const COLUMNS = "%i|%j|%T|%r|%Z";

/** A job as squeue lists it. */
export interface Listed {
  readonly job_id: string;
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  readonly folder: string;
}

export function readListed(printed: string): Listed[] {
  return printed.split("\n").flatMap((line) => {
    const [job_id, name, state, reason, ...folder] = line.trim().split("|");
    if (folder.length === 0) return [];
    return [{
      job_id: job_id!,
      name: name!,
      state: state!,
      reason: reason!,
      folder: folder.join("|"),
    }];
  });
}

const QUEUED = new Set([
  "PENDING",
  "REQUEUED",
  "REQUEUE_HOLD",
  "REQUEUE_FED",
  "SPECIAL_EXIT",
  "CONFIGURING",
]);
const ENDED = new Set(["COMPLETED", "FAILED", "CANCELLED"]);
/** Ended by SLURM for what is no fault of the job's program. */
const LOST = new Set([
  ...["BOOT_FAIL", "DEADLINE", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"],
]);

/** What a state's word says; `exit`, such as `7:0`, is asked for only of one that has ended. */
export async function stateOf(
  word: string,
  reason: string,
  exit: () => Promise<string | null>,
): Promise<EngineState> {
  const state = word.split(" ")[0]!; // sacct says "CANCELLED by 0"
  if (QUEUED.has(state)) return { state: "queued", reason: reason === "None" ? null : reason };
  if (LOST.has(state)) {
    return { state: "ended", how: "lost", code: null, reason: `SLURM says ${state}` };
  }
  if (!ENDED.has(state)) return { state: "running" }; // COMPLETING, SUSPENDED, STAGE_OUT: it holds its slots
  if (state === "CANCELLED") return { state: "ended", how: "cancelled", code: null };
  const [code, signal] = (await exit() ?? "").split(":").map(Number);
  if (signal === NO_OUTPUT) {
    return {
      state: "ended",
      how: "lost",
      code: null,
      reason: "its machine could not write its log",
    };
  }
  return signal !== undefined && signal > 0 ? { state: "ended", how: "signal", code: signal } : {
    state: "ended",
    how: "exit",
    code: code !== undefined && Number.isInteger(code) ? code : null,
  };
}

/** What slurmd gives as a signal where it cannot open a job's output. */
const NO_OUTPUT = 53;

/** Fields of one line of `scontrol show … -o`; of two with one name the first. */
export function fieldsOf(line: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, name, value] of line.matchAll(/(?:^|\s)([A-Za-z]\w*)=(\S*)/g)) {
    if (!found.has(name!)) found.set(name!, value!);
  }
  return found;
}

/** Cards of a list of resources, such as `gpu:a100:4(S:0-1),nic:1`. */
function cardsOf(resources: string): number {
  return [...resources.matchAll(/(?:^|,)gpu(?::[^:,()]+)??:(\d+)/g)]
    .reduce((sum, [, count]) => sum + Number(count), 0);
}

const GB_PER_MIB = 1024 ** 2 / 1e9;

/** What machines hold and have free, of the lines of `scontrol show node -d -o` of one partition. */
export function capacityOf(printed: string, partition: string | null) {
  let [total, free]: Slots[] = [NO_SLOTS, NO_SLOTS];
  const machines: Slots[] = [];
  for (const line of printed.split("\n")) {
    const field = fieldsOf(line);
    const partitions = field.get("Partitions")?.split(",") ?? [];
    if (!field.has("CPUTot") || (partition !== null && !partitions.includes(partition))) continue;
    const slots = (cpu: string, cards: string, memory: string): Slots => ({
      cpu: Number(field.get(cpu) ?? 0),
      gpu: cardsOf(field.get(cards) ?? ""),
      memory_gb: Number(field.get(memory) ?? 0) * GB_PER_MIB,
    });
    const all = slots("CPUTot", "Gres", "RealMemory");
    machines.push(all);
    if (/DOWN|DRAIN|FAIL|NOT_RESPONDING|\*/.test(field.get("State") ?? "")) continue;
    total = plus(total!, all);
    free = plus(free!, minus(all, slots("CPUAlloc", "GresUsed", "AllocMem")));
  }
  return { total: total!, free: free!, largest: largestOf(machines) };
}
