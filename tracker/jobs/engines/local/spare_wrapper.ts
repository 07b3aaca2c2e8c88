import { type Child, startChild } from "../../../../python-backends/child/start_child.ts";
import { type LockOwner, processStart } from "../../../../python-backends/process_owner.ts";
import { type Told, WAITS } from "../../attempt/told.ts";
import { wrapperWords } from "../wrapper_words.ts";

/** Milliseconds after a job's beginning at which the next spare one is made: its own start is not in the way. */
const AGAIN_MS = 2000;

/** A wrapper that waits, and what it is told its folder by. */
interface Spare {
  readonly child: Child;
  readonly owner: Pick<LockOwner, "pid" | "start">;
  tell(told: Told): void;
}

/**
 * Keeps a wrapper that has loaded all that it needs and waits for its folder: a job begins by one line, not
 * by the start of a program. It is used once, and ends as its standard input does: with this process.
 */
export class SpareWrapper implements Disposable {
  #child: Child | null = null;
  #again: ReturnType<typeof setTimeout> | undefined;

  /** `log`: what it says itself, which is of no attempt yet. */
  constructor(readonly log: string) {}

  /** Makes one where none waits. */
  make(): void {
    if (this.#child?.running) return;
    const output = { append: true, output: "log" } as const;
    this.#child = startChild({
      ...{ argv: wrapperWords(WAITS), log: this.log, ...output, ends_itself: true },
    });
    this.#child.unref();
  }

  /** The one that waits, which is nobody else's from now on; null: none does. */
  take(): Spare | null {
    const child = this.#child;
    const start = child?.running ? processStart(child.pid) : null;
    if (child === null || start === null) return null;
    this.#child = null;
    this.#again = setTimeout(() => this.make(), AGAIN_MS);
    this.#again.unref();
    const tell = (told: Told) => void child.input.write(`${JSON.stringify(told)}\n`);
    return { child, owner: { pid: child.pid, start }, tell };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#again);
    this.#child?.input.end();
    this.#child = null;
  }
}
