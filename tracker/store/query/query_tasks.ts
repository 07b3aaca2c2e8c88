import { Keeper } from "./kept_reader.ts";
import { askQueryProcess, type Deadline } from "./ask_process.ts";
import { queryProcess } from "./query_process.ts";
import { AnswerSchema, OpenedSchema, type QueryRequest } from "./messages.ts";
import type { QueryLimits, QueryResult } from "./result.ts";
import { type Opening, reading, TAKE_OVER_MS } from "./reading_tasks.ts";
import { timeLimitSentence } from "./run_query.ts";
import { exists } from "../../ground/storage/set_aside.ts";
import { removeSpill } from "./spill.ts";
import type { StorePaths } from "../store_paths.ts";

/** How long opening takes beside waiting for others: a process starts, a log is replayed. */
const OPENING_MS = 60_000;
/** How long after its time limit a statement may take to stop by itself. */
const GRACE_MS = 1_000;

type Statement = Extract<QueryRequest, { sql: string }>;

/** The database opened in the process of queries. */
interface Reader {
  run(statement: Statement): Promise<unknown>;
  close(): Promise<void>;
}

const kept = new Keeper<Reader>();

/** Closes what a query left open in its process. */
export function closeKeptQuery(): Promise<void> {
  return kept.close();
}

function deadlineOf({ limits }: Statement): Deadline {
  const { timeoutMs = 30_000 } = limits;
  return { ms: timeoutMs + GRACE_MS, sentence: timeLimitSentence(timeoutMs) };
}

function readerOf(paths: StorePaths): Reader {
  const pid = queryProcess();
  const ending = { ms: OPENING_MS, sentence: `Cannot close ${paths.database}` };
  return {
    run: (statement) => askQueryProcess(statement, deadlineOf(statement)),
    async close() {
      // One that was ended has the database open no more.
      if (pid === queryProcess()) await askQueryProcess({ kind: "close" }, ending);
      if (pid !== null) removeSpill(paths.root, pid);
    },
  };
}

/** Opens the database in the process of queries. */
function opening(keeper: Keeper<Reader> | null, write_to?: string): Opening<Reader> {
  return {
    keeper,
    async open(paths, { patience_ms, current }) {
      const options = write_to === undefined ? {} : { write_to };
      const sentence = `Cannot open ${paths.database} in a minute`;
      const opened = OpenedSchema.parse(
        await askQueryProcess(
          { kind: "open", paths, options, patience_ms, current },
          { ms: patience_ms + OPENING_MS, sentence },
        ),
      );
      return opened === "open" ? readerOf(paths) : opened;
    },
  };
}

/** Answers a user's query on a locked connection that can only read, in a process of its own. */
export function queryDatabase(
  paths: StorePaths,
  sql: string,
  limits: QueryLimits,
  patience_ms: number,
): Promise<QueryResult> {
  return reading(paths, patience_ms, opening(kept), async ({ reader, stale, torn }) => {
    const answer = AnswerSchema.parse(await reader.run({ kind: "query", sql, limits }));
    return { ...answer, stale, torn };
  }, TAKE_OVER_MS);
}

/** Writes a query's answer as a Parquet file; gives its rows. */
export async function exportParquet(
  paths: StorePaths,
  sql: string,
  out: string,
  limits: QueryLimits,
  patience_ms: number,
): Promise<number> {
  const partial = `${out}.partial-${Deno.pid}`;
  // Bound first where no file can be read at all; the connection that writes is less strict.
  await reading(
    paths,
    patience_ms,
    opening(null),
    ({ reader }) => reader.run({ kind: "check", sql, limits }),
  );
  try {
    const written = { timeoutMs: 600_000, ...limits };
    const rows = await reading(
      paths,
      patience_ms,
      opening(null, partial),
      ({ reader }) => reader.run({ kind: "export", sql, path: partial, limits: written }),
    );
    Deno.renameSync(partial, out);
    return Number(rows);
  } finally {
    if (exists(partial)) Deno.removeSync(partial);
  }
}
