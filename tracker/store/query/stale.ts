import type { Holder } from "../../ground/storage/file_holders.ts";

/** Why an answer lacks the last records where another process keeps them from being taken over. */
export function heldSentence(holder: Holder | null): string {
  const who = holder === null ? "another process" : `process ${holder.pid} (${holder.command})`;
  return `what was recorded last is not in the answer as ${who} has the database open; close it there and ask again`;
}

/** The same where this user, or this disk, writes nothing. */
export function unwritableSentence(why: string): string {
  return `what was recorded last is not in the answer as the index cannot be written (${why}): ask as ` +
    "whoever may write there";
}

/** What a reader says of journals that end in the middle of a record: nothing to wait for. */
export function tornSentence(torn: readonly { name: string; bytes: number }[]): string {
  const [one, ...more] = torn;
  const others = more.length === 0 ? "" : `, and ${more.length} other journals do alike`;
  return `${one!.name} ends in ${
    one!.bytes
  } bytes that are no whole record${others}: its writer was ` +
    "ended as it wrote, and had not said that they are kept; whoever writes it next puts them aside";
}

/** The same where there are too many of them to take over at once. */
export function behindSentence(reached: number, size: number): string {
  const percent = (Math.floor(1000 * reached / size) / 10).toFixed(1);
  return `what was recorded last is not in the answer yet: the database has ${percent}% of the journal; ask again`;
}
