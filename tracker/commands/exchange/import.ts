import { resolve } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { type ImportReport, importRuns } from "../../exchange/imports/import_runs.ts";
import { openStore } from "../../store/store.ts";

/** What an import did, and how to ask for it. */
export function sayImported(
  { added, updated, unchanged, study_ids, left_out }: ImportReport,
): void {
  console.log(
    `${added} ${added === 1 ? "run" : "runs"} added, ${updated} updated, ${unchanged} unchanged`,
  );
  for (const { what, why } of left_out) console.error(`left out: ${what}: ${why}`);
  if (added + updated + unchanged === 0) Deno.exitCode = 1;
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
  const { optunaRuns } = await import("../../exchange/imports/optuna.ts");
  const home = findHome(Deno.env.toObject(), options.store);
  const path = resolve(file);
  const runs = [...optunaRuns(path, options.study)];
  if (runs.length === 0) {
    throw new UsageError(`Cannot import ${path} as none of its trials has been run yet`);
  }
  await using store = await openStore(home.store, { write: true });
  sayImported(await importRuns(store, { source: "optuna", location: path }, runs));
}

/** `pare import lm-eval`: the figures and samples of an lm-eval results folder. */
export async function importLmEvalCommand(
  folder: string,
  options: { store?: string },
): Promise<void> {
  const { lmEvalRuns } = await import("../../exchange/imports/lm_eval.ts");
  const home = findHome(Deno.env.toObject(), options.store);
  const location = resolve(folder);
  const runs = await Array.fromAsync(lmEvalRuns(location)); // a mistake comes before a lock
  await using store = await openStore(home.store, { write: true });
  sayImported(await importRuns(store, { source: "lm_eval", location }, runs));
}

/** `pare import sensitivity`: other programs' scores of the layers of a study's model. */
export async function importScoresCommand(
  files: readonly string[],
  options: { store?: string; study?: string },
): Promise<void> {
  const { openLab } = await import("../../session/lab.ts");
  const { sensitivityTable } = await import("../study/sensitivity.ts");
  await using lab = await openLab({
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  const session = await lab.resume(options.study);
  const rows = await session.importScores(...files);
  for (const [scorer, own] of Map.groupBy(rows, (row) => row.scorer)) {
    const formats = new Set(own.map(({ format }) => format));
    console.log(
      `${own.length} scores by ${own[0]!.program} (${scorer}), of ${[...formats].join(", ")}`,
    );
  }
  console.log(`\n${sensitivityTable(rows, 10)}`);
  console.log(
    `\nSELECT * FROM layer_sensitivity WHERE study_id = '${session.study_id}' has every scorer`,
  );
}
