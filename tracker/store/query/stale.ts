import type { Holder } from "../index/obstacle.ts";

/** Why an answer lacks the last records where another process keeps them from being taken over. */
export function heldSentence(holder: Holder | null): string {
  const who = holder === null ? "another process" : `process ${holder.pid} (${holder.command})`;
  return `what was recorded last is not in the answer as ${who} has the database open; close it there and ask again`;
}

/** The same where there are too many of them to take over at once. */
export function behindSentence(reached: number, size: number): string {
  const percent = Math.floor(100 * reached / size);
  return `what was recorded last is not in the answer yet: the database has ${percent}% of the journal; ask again`;
}
