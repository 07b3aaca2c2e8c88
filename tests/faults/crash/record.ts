/** A workload's calls on files, recorded by strace: what a power cut may leave follows from them. */
import { existsSync } from "node:fs";
import { execa } from "execa";
import { hasOwnIds, isDrawn, withOwnIds } from "./same_names.ts";

const STRACE = "/usr/bin/strace";

/** What makes it run; null: it does. */
export function lacksStrace(): string | null {
  return existsSync(STRACE) ? null : `${STRACE} is not here: apt-get install strace`;
}

/** What one call did to files below the folder, in its order; paths are absolute. */
export type Operation =
  | { readonly kind: "create"; readonly path: string }
  | { readonly kind: "mkdir"; readonly path: string }
  | {
    readonly kind: "write";
    readonly path: string;
    readonly at: number | "end";
    readonly bytes: Uint8Array;
  }
  | { readonly kind: "truncate"; readonly path: string; readonly size: number }
  | { readonly kind: "sync"; readonly path: string }
  | { readonly kind: "rename"; readonly path: string; readonly to: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "ack"; readonly said: string };

const CALLS = [
  ...["openat", "creat", "write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate"],
  ...["truncate", "fallocate", "rename", "renameat", "renameat2", "link", "linkat", "unlink"],
  ...["unlinkat", "rmdir", "mkdir", "mkdirat", "fsync", "fdatasync", "lseek", "copy_file_range"],
  ...["sendfile", "mmap", "clone", "clone3", "fork", "vfork"],
];

/** The words that run a script with a folder as its argument: what it draws is the same each time. */
export function scriptWords(script: string, folder: string): string[] {
  const words = ["run", "--quiet", "--allow-all", "--no-check", "--seed=1", script, folder];
  return [Deno.execPath(), ...words];
}

/** Runs the script under strace, which writes what it saw to `log`. */
export async function record(script: string, folder: string, log: string): Promise<Operation[]> {
  return operationsOf(await traced(script, folder, log), folder);
}

async function traced(script: string, folder: string, log: string): Promise<string> {
  const words = ["-f", "--seccomp-bpf", "-y", "-xx", "-s", "1048576", "-o", log];
  const all = [...words, "-e", `trace=${CALLS.join(",")}`, ...scriptWords(script, folder)];
  const { exitCode, stderr } = await execa(...await withOwnIds([STRACE, ...all]), {
    reject: false,
  });
  if (exitCode !== 0) throw new Error(`the workload ${script} fails of itself: ${stderr}`);
  return await Deno.readTextFile(log);
}

/** A call on a file whose name is the same in every run. */
export interface NamedCall {
  readonly name: string;
  readonly path: string;
  /** What it returned. */
  readonly result: number;
  /** Bytes that were written into the file before it. */
  readonly before: number;
  /** Its number among all calls of its name that its thread makes, from 1. */
  readonly of_name: number;
}

/** A workload's calls below the folder, but those on files that another run names otherwise. */
export async function namedCalls(
  script: string,
  folder: string,
  log: string,
): Promise<NamedCall[]> {
  const written = new Map<string, number>();
  const counted = new Map<string, number>();
  const calls = callsOf(await traced(script, folder, log));
  const own = await hasOwnIds() ? calls[0]!.thread : null;
  return calls.flatMap(({ name, args, result, thread }) => {
    const of_name = (counted.get(`${thread} ${name}`) ?? 0) + 1;
    counted.set(`${thread} ${name}`, of_name);
    const [, , fd] = FD.exec(args) ?? [];
    const quoted = [...args.matchAll(QUOTED)].map(([, hex]) => textOf(hex!));
    const path = name === "rename" ? quoted[1]! : fd === undefined ? quoted[0] ?? "" : textOf(fd);
    if (!path.startsWith(`${folder}/`) || isDrawn(path.slice(folder.length), own)) return [];
    const before = written.get(path) ?? 0;
    if (name === "write") written.set(path, before + result);
    return [{ name, path, result, before, of_name }];
  });
}

function bytesOf(hex: string): Uint8Array {
  const digits = hex.split("\\x").slice(1);
  return Uint8Array.from(digits, (two) => parseInt(two, 16));
}

const textOf = (hex: string) => new TextDecoder().decode(bytesOf(hex));

/** A call with its arguments as they were written, and what it returned. */
interface Call {
  readonly name: string;
  readonly args: string;
  readonly result: number;
  readonly thread: string;
}

/** Calls by the time at which they returned. */
function callsOf(log: string): Call[] {
  const begun = new Map<string, string>();
  return log.split("\n").flatMap((line): Call[] => {
    const [, thread, rest] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (rest === undefined) return [];
    const [, half] = /^(.*) <unfinished \.\.\.>$/.exec(rest) ?? [];
    if (half !== undefined) {
      begun.set(thread!, half);
      return [];
    }
    const [, end] = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest) ?? [];
    const whole = end === undefined ? rest : (begun.get(thread!) ?? "") + end;
    const [, name, args, result] = /^(\w+)\((.*)\) += (-?\d+)/.exec(whole) ?? [];
    if (name === undefined || Number(result) < 0) return [];
    return [{ name, args: args!, result: Number(result), thread: thread! }];
  });
}

const BEGINS = /^(v?fork|clone3?)$/;

/** The process of each thread, as a thread of it: descriptors are a process's own. */
function processesOf(calls: readonly Call[]): (thread: string) => string {
  const begun = new Map(
    calls.filter(({ name, args }) => BEGINS.test(name) && args.includes("CLONE_THREAD"))
      .map(({ result, thread }) => [String(result), thread]),
  );
  return (thread) => {
    let first = thread;
    for (let by = begun.get(first); by !== undefined; by = begun.get(first)) first = by;
    return first;
  };
}

/** Where each open file is read and written, by its process and descriptor. */
class Places {
  readonly #at = new Map<string, number | "end">();

  opened(fd: string, flags: string): void {
    this.#at.set(fd, flags.includes("O_APPEND") ? "end" : 0);
  }

  sought(fd: string, at: number): void {
    if (this.#at.get(fd) !== "end") this.#at.set(fd, at);
  }

  written(fd: string, bytes: number): number | "end" {
    const at = this.#at.get(fd) ?? 0;
    if (at !== "end") this.#at.set(fd, at + bytes);
    return at;
  }
}

const FD = /^(\d+)<([^>]*)>/;
const QUOTED = /"((?:\\x[0-9a-f]{2})*)"/g;

/** What a call did; none where it did nothing to what is kept. */
function operationsOf(log: string, folder: string): Operation[] {
  const places = new Places();
  const below = (path: string) => path === folder || path.startsWith(`${folder}/`);
  const calls = callsOf(log);
  const processOf = processesOf(calls);
  return calls.flatMap((call): Operation[] => {
    const { name, args, result, thread } = call;
    if (BEGINS.test(name)) return [];
    const own = (fd: unknown) => `${processOf(thread)} ${fd}`;
    const quoted = [...args.matchAll(QUOTED)].map(([, hex]) => hex!);
    const [, fd, named] = FD.exec(args) ?? [];
    const path = named === undefined ? textOf(quoted[0] ?? "") : textOf(named);
    if (name === "write" && fd === "1") {
      const text = textOf(quoted[0]!);
      return text.split("\n").filter((line) => line.startsWith("ACK "))
        .map((line) => ({ kind: "ack", said: line.slice(4) }));
    }
    if (name === "openat" || name === "creat") {
      const opened = textOf(quoted[0]!);
      places.opened(own(result), args);
      if (!below(opened)) return [];
      const emptied: Operation[] = args.includes("O_TRUNC")
        ? [{ kind: "truncate", path: opened, size: 0 }]
        : [];
      return args.includes("O_CREAT") ? [{ kind: "create", path: opened }, ...emptied] : emptied;
    }
    if (name === "lseek") places.sought(own(fd), result);
    const inside = named === undefined ? quoted.some((hex) => below(textOf(hex))) : below(path);
    return inside ? changed(call, { path, quoted, fd: own(fd), places }) : [];
  });
}

function changed(
  { name, args, result }: Call,
  { path, quoted, fd, places }: { path: string; quoted: string[]; fd: string; places: Places },
): Operation[] {
  switch (name) {
    case "lseek":
      return [];
    case "write": {
      const bytes = bytesOf(quoted[0]!).subarray(0, result);
      return [{ kind: "write", path, at: places.written(fd, result), bytes }];
    }
    case "pwrite64": {
      const at = Number(/, (\d+)$/.exec(args)![1]);
      return [{ kind: "write", path, at, bytes: bytesOf(quoted[0]!).subarray(0, result) }];
    }
    case "ftruncate":
    case "truncate":
      return [{ kind: "truncate", path, size: Number(/, (\d+)$/.exec(args)![1]) }];
    case "fsync":
    case "fdatasync":
      return [{ kind: "sync", path }];
    case "mkdir":
    case "mkdirat":
      return [{ kind: "mkdir", path: textOf(quoted[0]!) }];
    case "rename":
    case "renameat":
    case "renameat2":
      return [{ kind: "rename", path: textOf(quoted[0]!), to: textOf(quoted[1]!) }];
    case "unlink":
    case "rmdir":
      return [{ kind: "remove", path: textOf(quoted[0]!) }];
    case "unlinkat": {
      // Below an open folder, or by its whole path.
      const name = textOf(quoted[0]!);
      const [, folder = ""] = FD.exec(args) ?? [, textOf(/<([^>]*)>/.exec(args)?.[1] ?? "")];
      return [{
        kind: "remove",
        path: name.startsWith("/") ? name : `${textOfFolder(folder, args)}/${name}`,
      }];
    }
    case "mmap":
      if (/PROT_WRITE/.test(args) && /MAP_SHARED/.test(args)) break;
      return [];
  }
  throw new Error(`a workload calls ${name}, of which this knows not what a power cut leaves`);
}

/** The folder that a call names by its descriptor. */
function textOfFolder(folder: string, args: string): string {
  return textOf(/^\d+<([^>]*)>/.exec(args)?.[1] ?? folder);
}
