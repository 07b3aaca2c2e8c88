import { kernelBroadcast } from "./kernel.ts";

/** What an interrupted cell aborts, until it is given back. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Aborts when a notebook's cell is interrupted. Without a listener that signal ends the whole kernel;
 * outside a kernel it is left to whoever runs the program.
 */
export function cellInterrupt(inKernel = kernelBroadcast() !== null): Interrupt {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (inKernel) Deno.addSignalListener("SIGINT", abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      if (inKernel) Deno.removeSignalListener("SIGINT", abort);
    },
  };
}
