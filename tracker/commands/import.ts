import { resolve } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { findHome } from "../home.ts";
import { type ImportReport, importRuns } from "../imports/import_runs.ts";
import { openStore } from "../store/store.ts";

/** What an import did, and how to ask for it. */
export function sayImported({ added, updated, unchanged, study_ids }: ImportReport): void {
  console.log(`${added} runs added, ${updated} updated, ${unchanged} unchanged`);
  for (const study_id of study_ids) console.log(`  study ${study_id}`);
  if (study_ids.length > 0) {
    console.log('ask: pare sql "SELECT * FROM imported_summary"');
  }
}

/** `pare import optuna`: the trials of Optuna's SQLite file. */
export async function importOptunaCommand(
  file: string,
  options: { store?: string; study?: string },
): Promise<void> {
  const { optunaRuns } = await import("../imports/optuna.ts");
  const home = findHome(Deno.env.toObject(), options.store);
  const path = resolve(file);
  const runs = [...optunaRuns(path, options.study)];
  if (runs.length === 0) {
    throw new UsageError(`Cannot import ${path} as none of its trials has been run yet`);
  }
  await using store = await openStore(home.store, { write: true });
  sayImported(await importRuns(store, { source: "optuna", location: path }, runs));
}
