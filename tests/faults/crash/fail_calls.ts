/** Runs a workload in which one call on one file fails, by strace. */
import { dirname, extname } from "node:path";
import { execa } from "execa";
import { type NamedCall, scriptWords } from "./record.ts";
import { withOwnIds } from "./same_names.ts";

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

/** Calls on the first files of each folder and ending, where the same lines write all of them. */
export function ofFewFiles(calls: readonly NamedCall[], most_files: number): NamedCall[] {
  const alike = new Map<string, Set<string>>();
  return calls.filter(({ path }) => {
    const kind = `${dirname(path)} ${extname(path)}`;
    const files = alike.get(kind) ?? new Set();
    alike.set(kind, files);
    if (files.size < most_files) files.add(path);
    return files.has(path);
  });
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
  /** What it said that it sends. */
  readonly sent: readonly string[];
  readonly met: boolean;
  readonly killed: boolean;
  /** What it ended with, where it could not go on. */
  readonly said: string;
  readonly late: boolean;
}

interface Asked {
  readonly script: string;
  readonly folder: string;
  readonly log: string;
  /** How long it may take. */
  readonly limit_ms: number;
}

async function ran(words: readonly string[], limit_ms: number) {
  return await execa(...await withOwnIds(words), {
    ...{ reject: false, timeout: limit_ms, killSignal: "SIGKILL", env: { NO_COLOR: "1" } },
  });
}

/** How long it takes where no call fails, ms. */
export async function unbrokenTime({ script, folder }: Pick<Asked, "script" | "folder">) {
  const began = performance.now();
  await ran(scriptWords(script, folder), 0);
  return performance.now() - began;
}

/** No file may have more bytes: the kernel writes a part of what passes that, and refuses what follows. */
async function runCut(most: number, { script, folder, limit_ms }: Asked): Promise<FaultyRun> {
  const words = ["env", "--ignore-signal=XFSZ", "prlimit", `--fsize=${most}`];
  const run = await ran([...words, ...scriptWords(script, folder)], limit_ms);
  return { ...saidIn(run.stdout), met: true, killed: false, said: run.stderr, late: run.timedOut };
}

/** What it announced, and what it acknowledged. */
function saidIn(stdout: string): Pick<FaultyRun, "acknowledged" | "sent"> {
  const after = (word: string) =>
    stdout.split("\n").filter((line) => line.startsWith(word)).map((line) =>
      line.slice(word.length)
    );
  return { acknowledged: after("ACK "), sent: after("SENT ") };
}

export async function runWith(
  { name, path, nth, of_name, does, for_ever }: CallFault,
  asked: Asked,
): Promise<FaultyRun> {
  const { script, folder, log, limit_ms } = asked;
  const [, most] = /^cut at (\d+)$/.exec(does) ?? [];
  if (most !== undefined) return await runCut(Number(most), asked);
  // A rename is not found by its path: by its number among all of them.
  const [which, at] = name === "rename" ? [[], of_name] : [["-P", path], nth];
  const inject = `inject=${name}:${does}:when=${at}${for_ever ? "+" : ""}`;
  // Without a filter in the kernel every call of every thread stops: a point took twice as long.
  const own = ["-f", "--seccomp-bpf", "-qq", "-o", log];
  const words = [...own, ...which, "-e", `trace=${name}`, "-e", inject];
  const run = await ran(["strace", ...words, ...scriptWords(script, folder)], limit_ms);
  const seen = await Deno.readTextFile(log);
  return {
    ...saidIn(run.stdout),
    met: seen.includes("(INJECTED)") || seen.includes("+++ killed by SIGKILL"),
    killed: seen.includes("+++ killed by SIGKILL"),
    said: run.stderr,
    late: run.timedOut,
  };
}
