/** Runs a workload in which one call on one file fails, by strace. */
import { execa } from "execa";
import { type NamedCall, scriptWords } from "./record.ts";

/** What is done to the n-th call of a kind on a file. */
export interface CallFault extends NamedCall {
  readonly nth: number;
  /** In strace's words, such as `error=EIO` or `signal=KILL`. */
  readonly does: string;
  /** That call and each after it. */
  readonly for_ever: boolean;
}

/** What may go wrong with a call; a lie says that it did what it did not. */
const DOES: Readonly<Record<string, readonly string[]>> = {
  openat: ["error=EMFILE", "error=EROFS", "error=ENOSPC", "error=EIO", "signal=KILL"],
  mkdir: ["error=ENOSPC", "error=EDQUOT", "signal=KILL"],
  write: ["error=EIO", "error=ENOSPC", "error=EDQUOT", "error=EINTR", "signal=KILL"],
  ftruncate: ["error=EIO", "signal=KILL"],
  fsync: ["error=EIO", "error=ENOSPC", "signal=KILL", "retval=0"],
  fdatasync: ["error=EIO", "error=ENOSPC", "error=EDQUOT", "signal=KILL", "retval=0"],
  rename: ["error=EIO", "error=ENOSPC", "signal=KILL"],
  lseek: ["error=EIO", "signal=KILL"],
};

/** Every fault of these calls: the first ones of each kind on each file, once and for ever. */
export function callFaults(calls: readonly NamedCall[], most: number): CallFault[] {
  const seen = new Map<string, number>();
  return calls.flatMap(({ name, path }) => {
    const key = `${name} ${path}`;
    const nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    if (nth > most) return [];
    return (DOES[name] ?? []).flatMap((does) => {
      const once = { name, path, nth, does, for_ever: false };
      // A call that is always interrupted is always repeated; a kill has no second time.
      return /EINTR|KILL/.test(does) ? [once] : [once, { ...once, for_ever: true }];
    });
  });
}

export interface FaultyRun {
  readonly acknowledged: readonly string[];
  readonly met: boolean;
  readonly killed: boolean;
  /** What it ended with, where it could not go on. */
  readonly said: string;
  readonly late: boolean;
}

/** No workload takes so long, with nothing to wait for. */
const LATE_MS = 60_000;

export async function runWith(
  { name, path, nth, does, for_ever }: CallFault,
  { script, folder, log }: { script: string; folder: string; log: string },
): Promise<FaultyRun> {
  const inject = `inject=${name}:${does}:when=${nth}${for_ever ? "+" : ""}`;
  const words = ["-f", "-qq", "-o", log, "-P", path, "-e", `trace=${name}`, "-e", inject];
  const run = await execa("strace", [...words, ...scriptWords(script, folder)], {
    ...{ reject: false, timeout: LATE_MS, killSignal: "SIGKILL", env: { NO_COLOR: "1" } },
  });
  const seen = await Deno.readTextFile(log);
  const lines = run.stdout.split("\n").filter((line) => line.startsWith("ACK "));
  return {
    acknowledged: lines.map((line) => line.slice(4)),
    met: seen.includes("(INJECTED)") || seen.includes("+++ killed by SIGKILL"),
    killed: seen.includes("+++ killed by SIGKILL"),
    said: run.stderr,
    late: run.timedOut,
  };
}
