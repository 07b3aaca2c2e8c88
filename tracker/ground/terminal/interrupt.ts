import { kernelBroadcast } from "./kernel.ts";

/** What an interrupted cell aborts, until it is given back. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

/** What an interrupt aborts now. */
const waiting = new Set<() => void>();

let kept = false;

/**
 * Takes interrupts in a notebook's kernel from now on, for as long as it lives: one that reaches no
 * listener ends the kernel with every variable. A listener that is taken away leaves the system's own
 * handler behind, which ends it too, so this one stays.
 */
export function keepKernelAlive(inKernel = kernelBroadcast() !== null): void {
  if (!inKernel || kept) return;
  kept = true;
  Deno.addSignalListener("SIGINT", () => {
    for (const abort of [...waiting]) abort();
  });
}

/**
 * Aborts when a notebook's cell is interrupted; outside a kernel that signal is left to whoever runs
 * the program.
 */
export function cellInterrupt(inKernel = kernelBroadcast() !== null): Interrupt {
  keepKernelAlive(inKernel);
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (inKernel) waiting.add(abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => void waiting.delete(abort),
  };
}

/** A set-up that was stopped: nobody's mistake, and nothing is recorded of it. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

/**
 * Does work before a study begins, until the signal or an interrupted cell ends it.
 *
 * @throws Stopped where it was ended, whatever its parts say of that.
 */
export async function untilInterrupted<T>(
  signal: AbortSignal,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  using interrupt = cellInterrupt();
  const stop = AbortSignal.any([signal, interrupt.signal]);
  const stopped = () =>
    new Stopped("Stopped while the study was set up: nothing of it is recorded");
  if (stop.aborted) throw stopped();
  try {
    return await work(stop);
  } catch (error) {
    throw stop.aborted ? stopped() : error;
  }
}

/** Ends with a signal, also with one that came before. */
export function stoppedBy(signal: AbortSignal | undefined): AbortController {
  const stop = new AbortController();
  if (signal?.aborted) stop.abort();
  signal?.addEventListener("abort", () => stop.abort(), { once: true });
  return stop;
}
