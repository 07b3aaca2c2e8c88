import { join } from "node:path";
import { z } from "zod";
import { UsageError } from "../../core/mod.ts";
import { writeWhole } from "../../python-backends/whole_file.ts";
import { isInUse } from "./index/database.ts";
import { SCHEMA_VERSION } from "./index/schema/files.ts";
import { newerFormatSentence } from "./index/obstacle.ts";
import { storePaths } from "./store_paths.ts";
import { RECORD_VERSION } from "./journal/upgrade_record.ts";

/** `store.json`: what wrote the store last. Stores of record version 1 do not say their schema. */
const StoreFormat = z.object({ format: z.int(), schema: z.int().default(0) });

const OURS = { format: RECORD_VERSION, schema: SCHEMA_VERSION };

/** The newest file format that this DuckDB (1.5) reads; 2.0 writes 69. */
const READABLE_STORAGE = 68;

function readFormat(path: string): z.infer<typeof StoreFormat> | null {
  try {
    return StoreFormat.parse(JSON.parse(Deno.readTextFileSync(path)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    // A few bytes that say what the journal's records and the database say themselves.
    return { format: 0, schema: 0 };
  }
}

/** Bytes of a database file's first header: a checksum over the rest, `DUCK`, the version, flags. */
const HEADER = 4096;

/** DuckDB's checksum of a header. */
function headerChecksum(header: DataView): bigint {
  let sum = 5381n;
  for (let at = 8; at < HEADER; at += 8) {
    sum ^= BigInt.asUintN(64, header.getBigUint64(at, true) * 0xbf58476d1ce4e5b9n);
  }
  return sum;
}

/** The version in a database file's header; null: it has none, or one with a flipped bit. */
function storageVersion(path: string): number | null {
  let file: Deno.FsFile;
  try {
    if (!Deno.statSync(path).isFile) return null;
    file = Deno.openSync(path);
  } catch {
    return null;
  }
  try {
    const bytes = new Uint8Array(HEADER);
    if (file.readSync(bytes) !== HEADER) return null;
    if (new TextDecoder().decode(bytes.subarray(8, 12)) !== "DUCK") return null;
    const header = new DataView(bytes.buffer);
    if (header.getBigUint64(0, true) !== headerChecksum(header)) return null;
    return Number(header.getBigUint64(12, true));
  } finally {
    file.close();
  }
}

/** Refuses a directory that a newer pare, or whose database a newer DuckDB, made; marks our own. */
export function checkFormat(root: string, write: boolean): void {
  const path = join(root, "store.json");
  const found = readFormat(path);
  for (const [what, ours] of Object.entries(OURS) as ["format" | "schema", number][]) {
    if (found === null || found[what] <= ours) continue;
    throw new UsageError(
      `Cannot open the store ${root} as a newer pare wrote it (${what} ${
        found[what]
      }, this one knows ${ours}); update pare`,
    );
  }
  const { database } = storePaths(root);
  // Closing a file gives up every lock that this process has on it: not while its worker has some.
  const storage = isInUse(root) ? null : storageVersion(database);
  if (storage !== null && storage > READABLE_STORAGE) {
    throw new UsageError(newerFormatSentence(database, String(storage)));
  }
  if (!write || (found?.format === OURS.format && found.schema === OURS.schema)) return;
  writeWhole(path, OURS);
}
