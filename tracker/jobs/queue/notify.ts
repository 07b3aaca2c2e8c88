import { execa } from "execa";
import type { QueueRow } from "./queue_rows.ts";

const PATIENCE_MS = 10_000;

/** What whoever is notified gets, as JSON. */
interface Notice
  extends Pick<QueueRow, "job_id" | "title" | "state" | "reason" | "study_id" | "store"> {
  readonly at: string;
}

async function send(target: string, text: string): Promise<void> {
  if (!/^https?:\/\//.test(target)) {
    await execa(target, [], { input: text, timeout: PATIENCE_MS, stdout: "ignore" });
    return;
  }
  const response = await fetch(target, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: text,
    signal: AbortSignal.timeout(PATIENCE_MS),
    redirect: "error",
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
}

/** An address is shown without what may be a key in it. */
function shown(target: string): string {
  return target.replace(/\/\/[^/]*@/, "//…@").replace(/(https?:\/\/[^/?]+).*/, "$1/…");
}

/**
 * Tells a webhook (POST) or a program (standard input) of a job. One that does not take it is named on
 * standard error and holds up nothing.
 */
export async function notify(
  targets: readonly string[],
  { job_id, title, state, reason, study_id, store }: Omit<Notice, "at">,
): Promise<void> {
  const notice: Notice = {
    ...{ job_id, title, state, reason, study_id, store },
    at: new Date().toISOString(),
  };
  await Promise.all(targets.map(async (target) => {
    try {
      await send(target, JSON.stringify(notice));
    } catch (error) {
      const [said = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
      // Deno's own words repeat the address, as it was given or as it was read.
      const why = said.replaceAll(target, shown).replaceAll(/https?:\/\/[^\s)'"]+/g, shown);
      console.error(`note: ${shown(target)} could not be told of ${job_id}: ${why}`);
    }
  }));
}
