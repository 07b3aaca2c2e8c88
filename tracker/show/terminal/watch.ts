/** Where a watched answer is drawn. */
export interface WatchScreen {
  readonly terminal: boolean;
  write(text: string): void;
}

/** Standard output: a terminal is drawn over, a file or pipe gets one answer after the other. */
export function standardOutput(): WatchScreen {
  const encoder = new TextEncoder();
  return {
    terminal: Deno.stdout.isTerminal(),
    write: (text) => {
      const bytes = encoder.encode(text);
      for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
    },
  };
}

const CLEAR = "\x1b[H\x1b[2J\x1b[3J";

/** Ends early, without an error, when the signal comes. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

/**
 * Asks and draws every `seconds` until the signal comes. A first answer that fails is the caller's
 * error; a later one is shown in the answer's place, and the next try may succeed.
 */
export async function watch(
  ask: () => Promise<string>,
  { seconds, screen, signal, now = () => new Date() }: {
    seconds: number;
    screen: WatchScreen;
    signal: AbortSignal;
    now?: () => Date;
  },
): Promise<void> {
  for (let first = true; !signal.aborted; first = false) {
    let text: string;
    try {
      text = await ask();
    } catch (error) {
      if (first) throw error;
      text = `${error instanceof Error ? error.message : String(error)}\n`;
    }
    if (signal.aborted) return;
    const time = now().toISOString().slice(11, 19);
    const head = `${time} UTC, every ${seconds} s; Ctrl-C ends\n\n`;
    screen.write(screen.terminal ? `${CLEAR}${head}${text}` : `${head}${text}\n`);
    await pause(seconds * 1000, signal);
  }
}
