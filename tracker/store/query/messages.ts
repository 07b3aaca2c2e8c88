import { z } from "zod";
import type { OpenOptions } from "../index/open_database.ts";
import type { QueryLimits, QueryResult } from "./result.ts";
import type { StorePaths } from "../store_paths.ts";

/** What the process of a query is asked; it does one thing at a time. */
export type QueryRequest =
  | {
    kind: "open";
    paths: StorePaths;
    options: Pick<OpenOptions, "write_to">;
    patience_ms: number;
    current: boolean;
  }
  | { kind: "query" | "check"; sql: string; limits: QueryLimits }
  | { kind: "export"; sql: string; path: string; limits: QueryLimits }
  | { kind: "close" };

const HolderSchema = z.strictObject({ pid: z.int(), command: z.string() });

/** What opening came to: open, an older index that somebody has to bring up, or an obstacle. */
export const OpenedSchema = z.union([
  z.literal("open"),
  z.literal("behind"),
  z.strictObject({ obstacle: z.literal("held"), holder: HolderSchema.nullable() }),
  z.strictObject({ obstacle: z.literal("damaged"), reason: z.string() }),
]);

/** An answer without its rows' values, which are plain by the form of the pipe. */
export const AnswerSchema: z.ZodType<Omit<QueryResult, "stale" | "torn">> = z.strictObject({
  columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
  rows: z.custom<QueryResult["rows"]>(Array.isArray),
  capped: z.boolean(),
});

export const ReplySchema = z.union([
  z.strictObject({ ok: z.literal(true), value: z.unknown() }),
  z.strictObject({ ok: z.literal(false), usage: z.boolean(), message: z.string() }),
]);
export type QueryReply = z.infer<typeof ReplySchema>;
