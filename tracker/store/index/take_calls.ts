/** Takes the calls of assistants over into the index. */
import type { DuckDBConnection } from "@duckdb/node-api";
import { callBytes, readCalls } from "../assistant/call_file.ts";
import { makeBatch } from "../rows/batch.ts";
import { adds } from "../rows/change.ts";
import type { StorePaths } from "../store_paths.ts";

/** What the index calls the file. */
const FILE = "assistant/calls.jsonl";

/** How far an index has read the file. */
interface CallsPlace {
  /** Behind the last whole line. */
  readonly offset: number;
  /** Of the file, as it was then. */
  readonly bytes: number;
}

async function placeIn(connection: DuckDBConnection): Promise<CallsPlace> {
  const result = await connection.runAndReadAll("FROM assistant_place");
  const [offset = 0, bytes = 0] = result.getRows()[0] ?? [];
  return { offset: Number(offset), bytes: Number(bytes) };
}

/** Whether the index has all calls that are kept. */
export async function hasCalls(
  connection: DuckDBConnection,
  { root }: StorePaths,
): Promise<boolean> {
  return (await placeIn(connection)).bytes === callBytes(root);
}

/** Takes over what the file says that the index does not have: all of it or nothing. */
export async function takeCalls(connection: DuckDBConnection, paths: StorePaths): Promise<void> {
  const place = await placeIn(connection);
  const bytes = callBytes(paths.root);
  if (bytes === place.bytes) return;
  const anew = bytes < place.bytes; // another file, or none any more
  const { calls, end, unread } = readCalls(paths.root, anew ? 0 : place.offset);
  await connection.run("BEGIN");
  try {
    if (anew) await connection.run("DELETE FROM assistant_calls");
    const batch = makeBatch();
    const rows = calls.map(({ called_at, ...call }) => ({
      ...call,
      called_at: new Date(called_at),
    }));
    for (const change of adds("assistant_calls", rows)) batch.take(change);
    if (unread > 0) {
      const problem = `${unread} lines of ${FILE} are no calls of an assistant: they were left out`;
      const row = { journal: FILE, position: end, trial_id: null, problem };
      batch.take({ op: "add", table: "problems", row });
    }
    await batch.write(connection);
    await connection.run("DELETE FROM assistant_place");
    await connection.run("INSERT INTO assistant_place VALUES (?, ?)", [end, bytes]);
    await connection.run("COMMIT");
  } catch (error) {
    await connection.run("ROLLBACK").catch(() => {}); // a commit that failed has done so itself
    throw error;
  }
}
