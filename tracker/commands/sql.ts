import { writeFile } from "node:fs/promises";
import { UsageError } from "../../core/mod.ts";
import { findHome } from "../home.ts";
import { formatResult } from "../store/query.ts";
import { openStore } from "../store/store.ts";
import { parseWhole } from "./parse_values.ts";

export interface SqlOptions {
  store?: string;
  format: "table" | "csv" | "json" | "parquet";
  output?: string;
  maxRows: string;
}

/** `pare sql`: one reading statement, printed or written to a file. */
export async function sqlCommand(query: string, options: SqlOptions): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  if (options.format === "parquet") {
    if (options.output === undefined) {
      throw new UsageError("Cannot print Parquet: give a file with --output rows.parquet");
    }
    const rows = await store.exportParquet(query, options.output);
    console.error(`${rows} rows in ${options.output}`);
    return;
  }
  const maxRows = parseWhole(options.maxRows, "--max-rows", 1);
  const result = await store.query(query, { maxRows });
  const text = formatResult(result, options.format);
  if (options.output === undefined) console.log(text);
  else await writeFile(options.output, `${text}\n`);
  if (result.capped) console.error(`cut at ${maxRows} rows: raise --max-rows for more`);
}
