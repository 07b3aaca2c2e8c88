import { onHangUp } from "../../ground/terminal/hang_up.ts";

/**
 * Ctrl-C ends the work cleanly, `ending` says how; a second one ends the process. A terminal that is closed
 * does the same, where the work was not started to outlive it.
 */
export function interruptible(
  say: (text: string) => void,
  begun: () => boolean,
  ending = "the running trial is recorded as cancelled",
): AbortController {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) Deno.exit(130);
    const what = begun() ? ending : "the set-up ends";
    say(`stopping: ${what}; once more to leave at once`);
    controller.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  onHangUp(() => controller.abort()); // nobody reads what is said any more
  return controller;
}
