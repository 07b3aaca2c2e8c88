import type { Slots } from "./engine.ts";

export const NO_SLOTS: Slots = { cpu: 0, gpu: 0, memory_gb: 0 };

/** Memory that nobody named takes none, and none that nobody counted is ever short. */
function memoryFits(asked: number | null, free: number | null): boolean {
  return asked === null || free === null || asked <= free;
}

/** Whether slots hold within others. */
export function fits(asked: Slots, free: Slots): boolean {
  return asked.cpu <= free.cpu && asked.gpu <= free.gpu &&
    memoryFits(asked.memory_gb, free.memory_gb);
}

function combine(a: Slots, b: Slots, sign: 1 | -1): Slots {
  const memory_gb = a.memory_gb === null ? null : a.memory_gb + sign * (b.memory_gb ?? 0);
  return { cpu: a.cpu + sign * b.cpu, gpu: a.gpu + sign * b.gpu, memory_gb };
}

export function plus(a: Slots, b: Slots): Slots {
  return combine(a, b, 1);
}

export function minus(a: Slots, b: Slots): Slots {
  return combine(a, b, -1);
}

/** What is asked beyond what there is, in words: `2 cards, 40 GB of memory`. */
export function lacking(asked: Slots, there: Slots): string {
  const cards = asked.gpu === 1 ? "1 card" : `${asked.gpu} cards`;
  return [
    ...(asked.cpu > there.cpu ? [`${asked.cpu} CPU`] : []),
    ...(asked.gpu > there.gpu ? [cards] : []),
    ...(memoryFits(asked.memory_gb, there.memory_gb) ? [] : [`${asked.memory_gb} GB of memory`]),
  ].join(", ");
}
