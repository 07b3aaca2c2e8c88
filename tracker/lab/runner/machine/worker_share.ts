import process from "node:process";
import { type CallName, type Facts, howCalled, threadsOf } from "../../../../core/mod.ts";
import { lostCards, lostWords } from "../../../../python-backends/lost_card.ts";

/** What a call has of the machine: given back when it has ended. */
export interface Share extends Disposable {
  /** Null: its default, all cores. */
  readonly threads: number | null;
  /** More variables of its process. */
  readonly env?: Readonly<Record<string, string>>;
  /** After a failure: that a card of it is gone, which nobody is given any more; null: none is. */
  lost(): Promise<string | null>;
}

/** Shares of the machine, one for each call; null: it had cards, and none is left. */
export type ShareOut = (call: CallName) => Promise<Share | null>;

const WHOLE: Share = {
  threads: null,
  lost: () => Promise.resolve(null),
  [Symbol.dispose]: () => {},
};

/** The GPUs that this process may use, as CUDA names them. */
function gpusHere(count: number): string[] {
  const named = process.env["CUDA_VISIBLE_DEVICES"]?.split(",").map((one) => one.trim());
  return named ?? Array.from({ length: count }, (_, i) => String(i));
}

/** Cards, each of which one call has at a time. */
class Cards {
  readonly #free: string[];
  readonly #gone = new Set<string>();
  #held = 0;
  #waiting: (() => void)[] = [];

  constructor(cards: readonly string[]) {
    this.#free = [...cards];
  }

  /** The next that is free; null: none is left. */
  async take(): Promise<string | null> {
    while (this.#free.length === 0 && this.#held > 0) {
      await new Promise<void>((go) => this.#waiting.push(go));
    }
    const card = this.#free.shift();
    if (card === undefined) return null;
    this.#held++;
    return card;
  }

  async isGone(card: string): Promise<string | null> {
    const lost = await lostCards([card]);
    for (const one of lost) this.#gone.add(one);
    return lost.length === 0 ? null : lostWords(lost);
  }

  give(card: string): void {
    this.#held--;
    if (!this.#gone.has(card)) this.#free.unshift(card);
    for (const go of this.#waiting.splice(0)) go();
  }
}

/** All cards that answer, for one call after another. */
function allCards(cards: readonly string[]): ShareOut {
  let left = cards;
  return () => {
    if (left.length === 0) return Promise.resolve(null);
    const own = left;
    const env = own === cards ? {} : { env: { CUDA_VISIBLE_DEVICES: own.join(",") } };
    return Promise.resolve({
      ...WHOLE,
      ...env,
      async lost() {
        const lost = await lostCards(own);
        left = left.filter((card) => !lost.includes(card));
        return lost.length === 0 ? null : lostWords(lost);
      },
    });
  };
}

/**
 * Shares for so many workers: of a CPU an equal part of the cores, but for a timing, which has all of them as
 * with one worker; of GPUs one for each call of a trial, as long as it answers.
 */
export function shareOut(workers: number, { device }: Pick<Facts, "device">): ShareOut {
  const gpus = device.device === "cpu" ? [] : gpusHere(device.gpus ?? 1);
  if (workers === 1) {
    return device.device === "cpu" ? () => Promise.resolve(WHOLE) : allCards(gpus);
  }
  // Who limits the threads of the whole program limits those of each worker.
  const asked = Number(process.env["OMP_NUM_THREADS"]) || Infinity;
  const threads = Math.min(threadsOf(workers, { device }), asked);
  if (device.device === "cpu") {
    return (call) => Promise.resolve(howCalled(call).timed ? WHOLE : { ...WHOLE, threads });
  }
  const cards = new Cards(gpus);
  return async (call) => {
    if (!howCalled(call).of_trial) return { ...WHOLE, threads };
    const gpu = await cards.take();
    if (gpu === null) return null;
    return {
      ...{ threads, env: { CUDA_VISIBLE_DEVICES: gpu, PARE_TIMED_DEVICE: `gpu-${gpu}` } },
      lost: () => cards.isGone(gpu),
      [Symbol.dispose]: () => cards.give(gpu),
    };
  };
}
