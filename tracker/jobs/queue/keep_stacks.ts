/** Where the Python processes of an attempt stand, kept with it. */
import { readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { sendSignal } from "../../../python-backends/child/process_group.ts";
import { ownPaths } from "../../store/queue/queue_paths.ts";
import { readLease } from "../attempt/lease.ts";
import { remains } from "../attempt/remains.ts";

/** A handler writes them; it needs no lock of the process, however it hangs. */
const WRITTEN_MS = 500;
/** Bits of a process's caught signals: SIGUSR1 is the tenth. */
const SIGUSR1 = 1n << 9n;

interface Standing {
  readonly pid: number;
  /** The file that its standard error goes to. */
  readonly log: string;
  readonly from: number;
}

/** A worker of ours that writes its stacks when it is asked; any other process would end by that signal. */
function workerOf(pid: number): Standing[] {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    const [, caught = "0"] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(
      readFileSync(`/proc/${pid}/status`, "utf8"),
    ) ?? [];
    const log = readlinkSync(`/proc/${pid}/fd/2`);
    const asks = words.includes("pare_backends") && (BigInt(`0x${caught}`) & SIGUSR1) !== 0n;
    return asks && statSync(log).isFile() ? [{ pid, log, from: statSync(log).size }] : [];
  } catch {
    return []; // it has ended, or is another user's
  }
}

/** Writes them into the attempt's folder; gives the words that say so. */
export async function keepStacks(folder: string): Promise<string> {
  const lease = readLease(folder);
  const workers = lease === null ? [] : remains(lease.token).flatMap(workerOf);
  if (workers.length === 0) return "no Python worker of it is seen here";
  for (const { pid } of workers) sendSignal(pid, "SIGUSR1");
  await delay(WRITTEN_MS);
  const texts = workers.map(({ pid, log, from }) =>
    `process ${pid}, of ${log}:\n${readFileSync(log).subarray(from).toString()}\n`
  );
  writeFileSync(ownPaths(folder).stacks, texts.join(""));
  return `where its ${workers.length === 1 ? "worker stands" : "workers stand"} is in stacks.txt`;
}
