/** A call that waits for a slot. */
interface Waiting {
  /** Of its trial: what began earlier goes first. */
  readonly number: number;
  readonly go: () => void;
}

/** A trial that is begun: its work until its end. */
export type Begun = () => Promise<unknown>;

/**
 * The slots of a study: in each computes one call, or one is timed with nothing beside it. A timing makes
 * all the others wait, so it waits itself while each slot has work. Once a slot would stay empty, or as
 * many timings wait as there are slots, no call begins any more; as soon as those under way have ended, the
 * timings that wait are made one after another.
 *
 * What gives a promise gives null where nobody has to wait. No clock and no chance: who comes in the same
 * order goes in the same order.
 */
export class Slots {
  readonly #count: number;
  /** False: each slot is a device of its own, so that what is timed there is alone anyway. */
  readonly #exclusive: boolean;
  #computing = 0;
  #timing = false;
  /** Timings are due: until all that wait are made, nothing else begins. */
  #closing = false;
  /** Trials that are begun and not ended. */
  #begun = 0;
  /** Whether an empty slot gets a trial. */
  #filling = false;
  /** The next trial is looked for. */
  #asking = false;
  readonly #calls: Waiting[] = [];
  readonly #timings: (() => void)[] = [];
  /** Trials that have ended. */
  #endings = 0;
  /** Who waits until a trial may begin, or until one has ended. */
  #room: (() => void) | null = null;
  #ended: (() => void) | null = null;

  constructor(count: number, exclusive: boolean) {
    this.#count = count;
    this.#exclusive = exclusive;
  }

  /** Takes a slot for a call of the trial of a number. */
  take(number: number): Promise<void> | null {
    if (this.#isOpen && this.#calls.length === 0) {
      this.#computing++;
      return null;
    }
    return new Promise((go) => {
      this.#calls.push({ number, go });
      this.#calls.sort((a, b) => a.number - b.number);
    });
  }

  give(): void {
    this.#computing--;
    this.#goOn();
  }

  /** Gives a call's slot, and takes all of them. */
  takeAll(): Promise<void> | null {
    if (!this.#exclusive) return null;
    this.#computing--;
    const alone = Promise.withResolvers<void>();
    let at_once = false;
    this.#timings.push(() => {
      at_once = true;
      alone.resolve();
    });
    this.#goOn();
    return at_once ? null : alone.promise;
  }

  /** Gives all of them, and takes a slot for the rest of that call. */
  giveAll(number: number): Promise<void> | null {
    if (!this.#exclusive) return null;
    this.#timing = false;
    this.#closing = this.#timings.length > 0;
    const taken = this.take(number);
    this.#goOn();
    return taken;
  }

  /**
   * Keeps the slots filled with trials until there is none to begin and all have ended. `next` begins
   * one; null: there is none now, it is asked again once another has ended. It is asked while no timing
   * goes on. What a trial throws is thrown once the others have ended.
   */
  async fill(next: (under_way: number) => Promise<Begun | null>): Promise<void> {
    const failed: unknown[] = [];
    for (;;) {
      await this.#untilRoom();
      const endings = this.#endings;
      const trial = failed.length > 0 ? null : await this.#ask(() => next(this.#begun));
      if (trial !== null) void this.#run(trial).catch((error) => failed.push(error));
      else if (this.#endings > endings) continue; // one that ended while it was asked may let another begin
      else if (this.#begun > 0) await this.#untilEnded();
      else break;
    }
    this.#filling = false;
    if (failed.length > 0) throw failed[0];
  }

  /** Settles once a trial may begin. */
  #untilRoom(): Promise<void> {
    this.#filling = true;
    return new Promise((go) => {
      this.#room = go;
      this.#goOn();
    });
  }

  /** Settles once a trial has ended; until then an empty slot stays so. */
  #untilEnded(): Promise<void> {
    this.#filling = false;
    return new Promise((go) => {
      this.#ended = go;
      this.#goOn();
    });
  }

  async #ask<T>(next: () => Promise<T>): Promise<T> {
    this.#asking = true;
    try {
      return await next();
    } finally {
      this.#asking = false;
      this.#goOn();
    }
  }

  async #run(trial: Begun): Promise<void> {
    this.#begun++;
    try {
      await trial();
    } finally {
      this.#begun--;
      this.#endings++;
      this.#ended?.();
      this.#ended = null;
      this.#goOn();
    }
  }

  get #isOpen(): boolean {
    return !this.#closing && !this.#timing && this.#computing < this.#count;
  }

  /** Lets go on who may. */
  #goOn(): void {
    const waiting = this.#timings.length;
    const is_spare = this.#begun - waiting < this.#count;
    if (waiting >= this.#count || (waiting > 0 && is_spare && !this.#filling)) {
      this.#closing = true;
    }
    if (this.#closing && !this.#timing && !this.#asking && this.#computing === 0) {
      this.#timing = true;
      this.#timings.shift()!();
    }
    while (this.#isOpen && this.#calls.length > 0) {
      this.#computing++;
      this.#calls.shift()!.go();
    }
    if (this.#closing || this.#asking || !is_spare) return;
    this.#room?.();
    this.#room = null;
  }
}
