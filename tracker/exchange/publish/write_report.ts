import { discoverPlugins } from "../../lab/discover.ts";
import { privateHere, sqlFiles } from "../../show/report_sql/sql_box.ts";
import { type StudyOutputs, writeOutputs } from "../../show/reports_of_study.ts";
import { writeResults } from "../results/write_results.ts";
import { lockFiles } from "../reproduce/locks.ts";
import { recordedStudy } from "../../lab/recorded_trial.ts";
import { reproductionFiles } from "../reproduce/write_reproduction.ts";
import type { Store } from "../../store/store.ts";
import { evidenceFigures } from "../../show/evidence_figures.ts";
import type { StudyView } from "../../show/view/study_view.ts";

/** What may be said of a report that is written. */
export interface WriteReportOptions {
  /** Its folder; default: the study's own, below `studies/` of PARE_HOME. */
  readonly folder?: string;
  /** Whose it is, in its citation. */
  readonly author?: string;
  /** The engine of its SQL box, too, about 12 MB; default: the box says how to get it. */
  readonly sql?: boolean;
  /** Tables and predictions as benchmark papers keep them, below `results/`. */
  readonly tables?: boolean;
  /** With `tables`: the method that is held against the others; default: that of the recommended trial. */
  readonly ours?: string;
}

/** Writes everything that a study leaves for people: the report, and what runs its trials again. */
export async function writeStudyReport(
  { store, root }: { readonly store: Store; readonly root: string },
  view: StudyView,
  folder: string,
  { author, sql = false, tables = false, ours }: Omit<WriteReportOptions, "folder"> = {},
): Promise<StudyOutputs> {
  if (tables || ours !== undefined) await writeResults(store, view, folder, ours);
  const recorded = await recordedStudy(store, view.study_id);
  const registry = await discoverPlugins();
  const box = sql ? { sql: await sqlFiles(store, recorded, registry, privateHere(root)) } : {};
  const { files: locks } = await lockFiles(recorded, registry);
  return await writeOutputs(view, folder, {
    evidence: await evidenceFigures(store, view),
    beside: { ...reproductionFiles(recorded), ...locks },
    ...(author === undefined ? {} : { author }),
    ...box,
  });
}
