import { readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { childPaths, readChild, readRequest } from "../../python-backends/child/child_folder.ts";
import { logTail } from "../../python-backends/child/log_tail.ts";

/** What is asked of the process of a submitted study: it stands in that process's folder. */
export const Asked = z.strictObject({
  study_id: z.string(),
  kind: z.string(),
  store: z.string(),
  model_name: z.string(),
  dataset: z.string(),
});
export type Asked = z.infer<typeof Asked>;

/** A study that was submitted to a board. */
export interface Submission extends Asked {
  /** Its place in line, from 1; 0: it is not waiting. */
  position: number;
  state: "waiting" | "starting" | "ended";
  /** What its process said last. */
  said: string[];
  exit_code: number | null;
}

const LINES_SHOWN = 40;

/** The folder of the process of a study, in the study's own. */
export function processFolder(studies: string, study_id: string): string {
  return join(studies, study_id, "process");
}

/** What the process of a folder said last. */
export function lastSaid(folder: string): string[] {
  const text = logTail(childPaths(folder).log, LINES_SHOWN);
  return text === "" ? [] : text.split("\n");
}

/** What ended a study that recorded nothing, in the words of those that did; null: nothing yet. */
export function endOf({ state, exit_code }: Submission): "cancelled" | "failed" | null {
  if (state !== "ended") return null;
  return exit_code === null || exit_code === 130 ? "cancelled" : "failed";
}

/** The same in words, with the exit code. */
export function endText(one: Submission): string {
  const code = one.exit_code === null ? "" : ` with exit code ${one.exit_code}`;
  return `${endOf(one) === "cancelled" ? "stopped" : "failed"}${code}`;
}

/** The exit code of a process that is over, null where nobody saw it end; undefined: it is not over. */
function exitOf(folder: string): number | null | undefined {
  const child = readChild(folder);
  if (child.state === "ended") return Ended.parse(child.result.value).exit_code;
  if (child.state === "died") return child.exit === null ? null : child.exit.code ?? 1;
  return undefined;
}

/** What the process of a study says of its end. */
export const Ended = z.strictObject({ exit_code: z.int() });
export type Ended = z.infer<typeof Ended>;

/** What was submitted to earlier boards for these stores and is over, as its files tell. */
export function earlierSubmissions(studies: string, stores: readonly string[]): Submission[] {
  return namesIn(studies).flatMap((name) => {
    const folder = processFolder(studies, name);
    const asked = Asked.safeParse(readRequest(folder));
    if (!asked.success || !stores.includes(asked.data.store)) return [];
    const exit_code = exitOf(folder);
    if (exit_code === undefined) return []; // another board's
    return [{ ...asked.data, position: 0, state: "ended", said: lastSaid(folder), exit_code }];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return []; // nothing was submitted yet
  }
}
