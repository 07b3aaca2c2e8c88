import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type Obstacle, openingObstacle } from "./obstacle.ts";
import { DUCKDB_MEMORY } from "../query/bounds.ts";
import { exists, removeDatabase } from "../../ground/storage/set_aside.ts";
import { storageFault } from "../../ground/storage/storage_error.ts";
import { spillBytes } from "../query/spill.ts";

export interface OpenDatabase {
  connection: DuckDBConnection;
  close(): void;
}

/** Nothing outside the database: with `--allow-ffi` SQL would have the user's file rights. */
const LOCKED = {
  enable_external_access: "false",
  autoinstall_known_extensions: "false",
  autoload_known_extensions: "false",
};

/** Why a path is no file at all, which DuckDB would wait for or name only by an error; null: it is. */
function noFile(path: string): string | null {
  try {
    return Deno.statSync(path).isFile ? null : `${path} is no file`;
  } catch {
    return null; // nothing is there yet, or a link that leads nowhere, of which DuckDB says so
  }
}

const NO_SPILLING = { temp_directory: "" };

/** Where what does not fit into memory goes; where that cannot be made, such a statement fails. */
function spilling(folder: string): Record<string, string> {
  try {
    Deno.mkdirSync(folder, { recursive: true });
    return { temp_directory: folder, max_temp_directory_size: `${spillBytes(folder)}B` };
  } catch {
    return NO_SPILLING;
  }
}

/** How the file is to be opened. */
export interface OpenOptions {
  readOnly: boolean;
  /** The one path outside the database that statements may write. */
  write_to?: string;
  /** The one directory outside the database that statements may write into. */
  write_into?: string;
  /** A folder that holds what does not fit into memory; made where it is missing. */
  spill_into?: string;
  /**
   * Leaves what was written in the write-ahead log at closing: a tenth of a second less each time.
   * Readers replay it at every opening, so it is emptied when it is 200 kB (five times a plain
   * opening's work) or the store is closed.
   */
  keep_log?: boolean;
}

/**
 * Opens the file once, or says what is in the way. One open database a process at a time: closing
 * a second one would give the file's lock away.
 */
export async function openDatabase(
  path: string,
  { readOnly, write_to, write_into, spill_into, keep_log = false }: OpenOptions,
): Promise<OpenDatabase | Obstacle> {
  const reason = noFile(path);
  if (reason !== null) return { obstacle: "damaged", reason };
  let instance: DuckDBInstance | null = null;
  const isNew = !exists(path);
  const outside = write_to ?? write_into;
  const shut = readOnly && outside === undefined && spill_into === undefined;
  try {
    instance = await DuckDBInstance.create(path, {
      access_mode: readOnly ? "READ_ONLY" : "READ_WRITE",
      // Before it is locked.
      ...(spill_into !== undefined ? spilling(spill_into) : shut ? NO_SPILLING : {}),
      ...(outside === undefined ? LOCKED : {}),
      threads: "2",
      memory_limit: DUCKDB_MEMORY, // a query must not take the memory that a trial needs
    });
    const connection = await instance.connect();
    if (outside !== undefined) {
      const setting = write_to === undefined ? "allowed_directories" : "allowed_paths";
      await connection.run(`SET ${setting} = ['${outside.replaceAll("'", "''")}']`);
      for (const [name, value] of Object.entries(LOCKED)) {
        await connection.run(`SET ${name} = ${value}`);
      }
    }
    if (keep_log) {
      await connection.run("SET checkpoint_threshold = '200KB'");
      await connection.run("PRAGMA disable_checkpoint_on_shutdown");
    }
    // DuckDB lets SQL read the open database's own file, and closing that would give its lock away.
    if (shut) {
      await connection.run("SET disabled_filesystems = 'LocalFileSystem'");
    }
    await connection.run("SET lock_configuration = true");
    const opened = instance;
    return {
      connection,
      close: () => {
        connection.closeSync();
        opened.closeSync();
      },
    };
  } catch (error) {
    instance?.closeSync();
    // A start of a file on a full disk: it holds nothing, and each next opening would keep it as damaged.
    if (isNew && /^(no_room|limit)$/.test(storageFault(error)?.kind ?? "")) removeDatabase(path);
    return openingObstacle(path, error);
  }
}

/** Opens the file, trying again for `patience_ms` while another process has it. */
export async function openPatiently(
  path: string,
  options: OpenOptions & { patience_ms: number },
): Promise<OpenDatabase | Obstacle> {
  const until = performance.now() + options.patience_ms;
  for (let pause = 3;; pause = Math.min(pause * 2, 24)) {
    const opened = await openDatabase(path, options);
    const held = "obstacle" in opened && opened.obstacle === "held";
    if (!held || performance.now() >= until) return opened;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
