/** Runs a workload in which one call on one file fails, by strace. */
import { execa } from "execa";
import { patience } from "../walk_loops.ts";
import { type NamedCall, scriptWords } from "./record.ts";

/** What is done to the n-th call of a kind on a file. */
export interface CallFault extends Pick<NamedCall, "name" | "path" | "of_name"> {
  readonly nth: number;
  /** In strace's words, such as `error=EIO` or `signal=KILL`; or `cut at N`, the most bytes of any file. */
  readonly does: string;
  /** That call and each after it. */
  readonly for_ever: boolean;
}

/**
 * What may go wrong with a call; a lie says that it did what it did not. A kill comes before it: between two
 * calls nothing changes on the disk, so that one after it is one before the next.
 */
const DOES: Readonly<Record<string, readonly string[]>> = {
  openat: ["error=EMFILE", "error=EROFS", "error=ENOSPC", "error=EIO", "signal=KILL"],
  mkdir: ["error=ENOSPC", "error=EDQUOT", "signal=KILL", "retval=0"],
  write: ["error=EIO", "error=ENOSPC", "error=EDQUOT", "error=EINTR", "signal=KILL"],
  ftruncate: ["error=EIO", "signal=KILL", "retval=0"],
  fsync: ["error=EIO", "error=ENOSPC", "signal=KILL", "retval=0"],
  fdatasync: ["error=EIO", "error=ENOSPC", "error=EDQUOT", "signal=KILL", "retval=0"],
  rename: ["error=EIO", "error=ENOSPC", "signal=KILL", "retval=0"],
  lseek: ["error=EIO", "signal=KILL"],
};

/** A write that is cut short: no file may have more bytes, so that the next one fails; and a lie of its length. */
function ofWrite({ name, result, before }: NamedCall): string[] {
  if (name !== "write" || result < 2) return [];
  return [`cut at ${before + 1}`, `cut at ${before + (result >> 1)}`, `retval=${result}`];
}

/** Whether a call says that it did what it did not, so that what follows it is of no use. */
export function isLie({ name, does }: CallFault): boolean {
  return does.startsWith("retval=") && !/^f(data)?sync$/.test(name);
}

/** Every fault of these calls: the first ones of each kind on each file, once and for ever. */
export function callFaults(calls: readonly NamedCall[], most: number): CallFault[] {
  const seen = new Map<string, number>();
  return calls.flatMap((call) => {
    const { name, path, of_name } = call;
    const key = `${name} ${path}`;
    const nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    if (nth > most) return [];
    return [...DOES[name] ?? [], ...ofWrite(call)].flatMap((does) => {
      const once = { name, path, nth, of_name, does, for_ever: false };
      // A call that is always interrupted is always repeated; a kill has no second time, and lengths are one's own.
      return /EINTR|KILL|cut|retval=\d\d/.test(does) ? [once] : [once, { ...once, for_ever: true }];
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

/** No file may have more bytes: the kernel writes a part of what passes that, and refuses what follows. */
async function runCut(most: number, script: string, folder: string): Promise<FaultyRun> {
  const words = ["--ignore-signal=XFSZ", "prlimit", `--fsize=${most}`];
  const run = await execa("env", [...words, ...scriptWords(script, folder)], {
    ...{ reject: false, timeout: patience(LATE_MS), killSignal: "SIGKILL", env: { NO_COLOR: "1" } },
  });
  return {
    acknowledged: acksOf(run.stdout),
    met: true,
    killed: false,
    said: run.stderr,
    late: run.timedOut,
  };
}

const acksOf = (stdout: string): string[] =>
  stdout.split("\n").filter((line) => line.startsWith("ACK ")).map((line) => line.slice(4));

export async function runWith(
  { name, path, nth, of_name, does, for_ever }: CallFault,
  { script, folder, log }: { script: string; folder: string; log: string },
): Promise<FaultyRun> {
  const [, most] = /^cut at (\d+)$/.exec(does) ?? [];
  if (most !== undefined) return await runCut(Number(most), script, folder);
  // A rename is not found by its path: by its number among all of them.
  const [which, at] = name === "rename" ? [[], of_name] : [["-P", path], nth];
  const inject = `inject=${name}:${does}:when=${at}${for_ever ? "+" : ""}`;
  const words = ["-f", "-qq", "-o", log, ...which, "-e", `trace=${name}`, "-e", inject];
  const run = await execa("strace", [...words, ...scriptWords(script, folder)], {
    ...{ reject: false, timeout: patience(LATE_MS), killSignal: "SIGKILL", env: { NO_COLOR: "1" } },
  });
  const seen = await Deno.readTextFile(log);
  return {
    acknowledged: acksOf(run.stdout),
    met: seen.includes("(INJECTED)") || seen.includes("+++ killed by SIGKILL"),
    killed: seen.includes("+++ killed by SIGKILL"),
    said: run.stderr,
    late: run.timedOut,
  };
}
