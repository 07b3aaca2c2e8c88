import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { unknownName, UsageError } from "../../../core/mod.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { recordedStudy } from "../../lab/recorded_trial.ts";
import { resultTable } from "../../show/sweep/result_table.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { sampleReader } from "../../show/view/view_study.ts";
import type { Store } from "../../store/store.ts";
import { lockFiles } from "../reproduce/locks.ts";
import { resultFiles } from "./result_files.ts";

/** Below a report's folder. */
const RESULTS_FOLDER = "results";

/**
 * Writes a study's results as benchmark papers keep them: RESULTS.md, a tree of predictions and metrics a
 * cell, LaTeX, and what each role reads. The folder is made anew. Gives the files.
 *
 * @throws UsageError where no baseline is measured, or `ours` is no method of the study.
 */
export async function writeResults(
  store: Store,
  view: StudyView,
  folder: string,
  asked?: string,
): Promise<string[]> {
  const ours = asked ?? null;
  const table = resultTable(view);
  if (table === null) {
    throw new UsageError(
      `Cannot write the results of ${view.study_id} as its original is not measured: run it on`,
    );
  }
  const methods = [...new Set(table.rows.map(({ method }) => method))];
  if (ours !== null && !methods.includes(ours)) {
    throw new UsageError(unknownName("method of this study", ours, methods));
  }
  const read = sampleReader(store.paths.root, await store.journalOf(view.study_id));
  const samples = new Map(
    await Promise.all(
      table.rows.map(async ({ trial_id }) => [trial_id, await read(trial_id) ?? []] as const),
    ),
  );
  const recorded = await recordedStudy(store, view.study_id);
  const { files: locks } = await lockFiles(recorded, await discoverPlugins());
  const experiment = await experimentOf(store, view.study_id);
  const files = resultFiles({ view, table, samples, recorded, locks, experiment, ours });
  await rm(join(folder, RESULTS_FOLDER), { recursive: true, force: true });
  return await Promise.all(
    Object.entries(files).map(async ([name, text]) => {
      const path = join(folder, RESULTS_FOLDER, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      if (name.endsWith(".sh")) await chmod(path, 0o755);
      return path;
    }),
  );
}

/** The job of the queue that ran a study; null: none did. */
async function experimentOf(store: Store, study_id: string): Promise<string | null> {
  const rows = await store.ask(
    "SELECT job_id FROM queue_jobs WHERE study_id = $id ORDER BY submitted_at DESC LIMIT 1",
    { params: { id: study_id } },
  );
  return rows.length === 0 ? null : String(rows[0]!["job_id"]);
}
