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

/** A card as a list such as CUDA_VISIBLE_DEVICES names it, and what it is called. */
interface Card {
  readonly card: string;
  readonly name: string;
}

/**
 * The cards of lines such as `0, NVIDIA A100, GPU-1a2b` that a list leaves, as CUDA reads it: by number or the
 * beginning of an id, up to the first word that is none, such as -1.
 */
export function visibleCards(lines: readonly string[], list: string | undefined): Card[] {
  const all = lines.map((line) => {
    const [card = "", name = "", id = ""] = line.split(",").map((one) => one.trim());
    return { card, name, id };
  });
  if (list === undefined) return all.map(({ card, name }) => ({ card, name }));
  const found: Card[] = [];
  for (const word of list.split(",").map((one) => one.trim())) {
    // A part of a card has an id of its own, which stands in no line.
    const one = word.startsWith("MIG-")
      ? all[0]
      : all.find(({ card, id }) => card === word || /^GPU-./.test(word) && id.startsWith(word));
    if (one === undefined) break;
    found.push({ card: word, name: one.name });
  }
  return found;
}

/** Threads, memory and NVIDIA's cards; of these the ones that CUDA_VISIBLE_DEVICES leaves. */
export async function findDevices(): Promise<Devices> {
  const words = ["--query-gpu=index,name,uuid", "--format=csv,noheader"];
  const asked = await execa("nvidia-smi", words, { reject: false, timeout: 10_000 });
  const lines = asked.failed ? [] : asked.stdout.split("\n").filter((one) => one.includes(","));
  const held = visibleCards(lines, Deno.env.get("CUDA_VISIBLE_DEVICES"));
  const names = held.map(({ name }) => name);
  const cpu = availableParallelism();
  return {
    slots: { cpu, gpu: held.length, memory_gb: Math.floor(totalmem() / 1e8) / 10 },
    cards: held.map(({ card }) => card),
    names,
    threads: await ownThreads(),
    machine: kindOf(cpu, names),
  };
}
