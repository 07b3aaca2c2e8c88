import { execa } from "execa";
import { availableParallelism, cpus, totalmem } from "node:os";
import type { Slots } from "../../../../core/jobs/engine.ts";

/** What this machine has for jobs. */
export interface Devices {
  readonly slots: Slots;
  /** Its cards, as CUDA_VISIBLE_DEVICES names them. */
  readonly cards: readonly string[];
  /** What those cards are called. */
  readonly names?: readonly string[];
  /** Its threads as the system numbers them, where a job can be kept to some of them; absent: it cannot. */
  readonly threads?: readonly string[];
  /** Its kind: jobs on two kinds are not compared by their time. */
  readonly machine: string;
}

/** The kind of machine that some threads of a processor or some cards are. */
function kindOf(threads: number, cards: readonly string[]): string {
  const name = cards[0] ?? cpus()[0]?.model ?? Deno.build.arch;
  const word = name.replaceAll(/\(.*?\)|@.*|\bCPU\b/g, " ").toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return `${cards[0] === undefined ? `cpu-${threads}x` : `gpu-${cards.length}x`}-${word.join("-")}`;
}

/** The threads that this process may use, of a list such as `0-3,8`. */
export function threadsOf(list: string): string[] {
  return list.trim().split(",").flatMap((part) => {
    const [from = NaN, to = from] = part.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, at) => String(from + at));
  });
}

/** Empty where there is no `taskset`. */
async function ownThreads(): Promise<string[]> {
  const asked = await execa("taskset", ["-cp", String(Deno.pid)], { reject: false });
  const list = /:\s*([\d,-]+)\s*$/.exec(asked.stdout ?? "")?.[1];
  return list === undefined ? [] : threadsOf(list);
}

/** Threads, memory and NVIDIA's cards; of these the ones that CUDA_VISIBLE_DEVICES leaves. */
export async function findDevices(): Promise<Devices> {
  const asked = await execa("nvidia-smi", ["--query-gpu=index,name", "--format=csv,noheader"], {
    reject: false,
    timeout: 10_000,
  });
  const rows = asked.failed ? [] : asked.stdout.split("\n").filter((row) => row.includes(","));
  const visible = Deno.env.get("CUDA_VISIBLE_DEVICES")?.split(",").filter((one) => one !== "");
  const cards = visible ?? rows.map((row) => row.split(",")[0]!.trim());
  const names = rows.slice(0, cards.length).map((row) => row.slice(row.indexOf(",") + 1).trim());
  const cpu = availableParallelism();
  const held = rows.length === 0 ? [] : cards;
  return {
    slots: { cpu, gpu: held.length, memory_gb: Math.floor(totalmem() / 1e8) / 10 },
    cards: held,
    names: held.length === 0 ? [] : names,
    threads: await ownThreads(),
    machine: kindOf(cpu, held.length === 0 ? [] : names),
  };
}
