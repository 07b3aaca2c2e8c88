import { join } from "node:path";
import { UsageError } from "../../../core/errors.ts";

/** Where the parts of a queue lie, beside the store that its jobs write. */
export function queuePaths(store: string) {
  const root = join(store, "queue");
  return {
    store,
    root,
    journal: join(root, "journal.jsonl"),
    /** Held by the process that drives the queue. */
    driver: join(root, "driver.lock"),
    /** Where engines keep what they hold. */
    books: root,
    /** What the queue holds and what was executed, for people. */
    queue_page: join(root, "QUEUE.md"),
    execution_page: join(root, "EXECUTION.md"),
  };
}
export type QueuePaths = ReturnType<typeof queuePaths>;

/** The document that a job was submitted with. */
export function jobDocument(paths: QueuePaths, submission_id: string): string {
  // deno-lint-ignore no-control-regex
  if (!/^[^/\\\u0000-\u001f]{1,100}$/.test(submission_id)) {
    throw new UsageError(
      `Cannot use "${
        submission_id.slice(0, 80)
      }" as a submission_id: give one of 1 to 100 letters, without slashes`,
    );
  }
  return join(paths.root, "documents", `${submission_id}.json`);
}

export function attemptFolder({ root }: QueuePaths, job_id: string, attempt: number): string {
  return join(root, "jobs", job_id, `attempt-${attempt}`);
}

/** Files of a queued job in its attempt's folder, beside those of its wrapper. */
export function ownPaths(folder: string) {
  return {
    progress: join(folder, "progress.json"),
    /** What the job is to do, for its program. */
    work: join(folder, "work.json"),
    checklist: join(folder, "checklist.json"),
    /** What the checkout differed by from its commit; absent: by nothing. */
    changes: join(folder, "changes.diff"),
    /** Where its Python processes stood when it got no further; absent: it always did. */
    stacks: join(folder, "stacks.txt"),
  };
}
