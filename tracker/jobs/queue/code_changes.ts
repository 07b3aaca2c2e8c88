/** What a checkout differs by from its commit, kept beside the attempt that runs from it. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { execa } from "execa";
import { PROJECT_ROOT } from "../../ground/home.ts";
import { QueueDisk } from "../../store/queue/queue_disk.ts";
import { attemptFolder, ownPaths, queuePaths } from "../../store/queue/queue_paths.ts";

/** A difference beyond this many bytes is cut there. */
const MOST_BYTES = 1 << 20;

const DIFF = ["diff", "HEAD", "--no-color", "--no-ext-diff", "--no-textconv"];

/** Writes the difference of tracked files into an attempt's folder; gives the words that say so. */
export async function keepChanges(folder: string, checkout = PROJECT_ROOT): Promise<string> {
  const { changes } = ownPaths(folder);
  const diff = await execa("git", ["-C", checkout, ...DIFF], {
    ...{
      reject: false,
      stdin: "ignore",
      stripFinalNewline: false,
      encoding: "buffer",
      maxBuffer: MOST_BYTES + 1,
    },
  });
  const bytes = diff.stdout;
  if (diff.failed && !diff.isMaxBuffer) return "git gives no difference to keep";
  mkdirSync(folder, { recursive: true });
  writeFileSync(changes, bytes.subarray(0, MOST_BYTES));
  const cut = bytes.length > MOST_BYTES ? `, its first ${MOST_BYTES / 1024} KiB alone` : "";
  return `kept in changes.diff${cut}`;
}

/** Where a queued study's differences are kept, that of its newest attempt; null: there is none. */
export function keptChanges(store: string, study_id: string): string | null {
  const paths = queuePaths(store);
  const jobs = [...new QueueDisk(paths.journal).current().jobs.values()];
  const job = jobs.find(({ work }) => work["study_id"] === study_id);
  const files = (job?.attempts ?? []).map(({ number }) =>
    ownPaths(attemptFolder(paths, job!.job_id, number)).changes
  );
  return files.findLast((file) => existsSync(file)) ?? null;
}
