import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkFolder } from "../../ground/filled_folder.ts";
import { findHome } from "../../ground/home.ts";
import type { ExportedTables } from "../../store/export_tables.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import { partialOf, putFolder } from "../../ground/storage/whole_folder.ts";
import { openStore } from "../../store/store.ts";
import { jsonText } from "../../show/json/print_json.ts";

const SCHEMA = "schema.json";
/** The mark by which an earlier export is known: nothing else is ever replaced. */
const FORMAT = "pare-export-1";

function isExport(directory: string): boolean {
  try {
    const text = readFileSync(join(directory, SCHEMA), "utf8");
    return (JSON.parse(text) as { format?: unknown }).format === FORMAT;
  } catch {
    return false;
  }
}

function readme({ tables }: ExportedTables): string {
  const lines = tables.map(({ name, rows, path, comment }) =>
    `| ${name} | ${rows} | \`${path}\` | ${comment ?? ""} |`
  );
  return `# An export of a pare store

Every table and view as Parquet; \`${SCHEMA}\` lists their columns. Tables with a study are split into
folders by it (\`study_id=…\`, as Hive does), so readers are told: DuckDB
\`FROM read_parquet('tables/trials/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)\`,
pandas \`read_parquet("tables/trials")\`, Polars \`scan_parquet("tables/trials/**/*.parquet", hive_partitioning=True)\`.

| name | rows | files | what it is |
|---|---|---|---|
${lines.join("\n")}
`;
}

/** `pare export --parquet DIR`: the whole store for DuckDB, pandas, Polars and whoever reads Parquet. */
export async function exportCommand(
  options: { store?: string; parquet: string; force?: boolean; json?: boolean },
): Promise<void> {
  const directory = outsideStores(options.parquet, "export to");
  checkFolder(directory, "export to", {
    ...{ force: options.force ?? false, does: "replace an earlier export" },
    foreign: () =>
      isExport(directory)
        ? null
        : `replace ${directory} as it is no export of pare's (it has no ${SCHEMA} of one)`,
  });
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  mkdirSync(dirname(directory), { recursive: true });
  const partial = partialOf(directory);
  try {
    mkdirSync(partial);
    const exported = await store.exportTables(partial);
    const { stale, tables, ...rest } = exported;
    const document = { format: FORMAT, exported_at: new Date().toISOString(), ...rest, tables };
    await writeFile(join(partial, SCHEMA), JSON.stringify(document, null, 2) + "\n");
    await writeFile(join(partial, "README.md"), readme(exported));
    await putFolder(partial, directory);
    if (options.json) {
      const told = tables.map(({ name, kind, rows, path }) => ({ name, kind, rows, path }));
      return console.log(jsonText("export", { folder: directory, tables: told, stale }));
    }
    const rows = tables.reduce((sum, { kind, rows }) => sum + (kind === "table" ? rows : 0), 0);
    console.log(`${tables.length} tables and views, ${rows} rows in ${directory}`);
    if (stale !== null) console.error(`note: ${stale}`);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}
