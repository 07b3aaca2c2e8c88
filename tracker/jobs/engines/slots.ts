import type { Slots } from "../../../core/jobs/engine.ts";

/** The most of each that one of them has. */
export function largestOf(all: readonly Slots[]): Slots {
  const most = (of: (slots: Slots) => number) => Math.max(0, ...all.map(of));
  return {
    cpu: most(({ cpu }) => cpu),
    gpu: most(({ gpu }) => gpu),
    memory_gb: most(({ memory_gb }) => memory_gb ?? 0),
  };
}

/** Why slots are not within others, as `2 cards, of 1 there`; null: they are. */
export function lacks(asked: Slots, there: Slots): string | null {
  const say = (n: number, one: string) => `${n} ${one}${n === 1 ? "" : "s"}`;
  if (asked.gpu > there.gpu) return `${say(asked.gpu, "card")}, of ${there.gpu}`;
  if (asked.cpu > there.cpu) return `${say(asked.cpu, "thread")}, of ${there.cpu}`;
  const memory = there.memory_gb;
  if (memory === null || (asked.memory_gb ?? 0) <= memory) return null;
  return `${asked.memory_gb} GB of memory, of ${Math.round(10 * memory) / 10}`;
}
