import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import type { Lab } from "../../session/lab.ts";
import { writeStudiesReport } from "../../show/report_of_studies.ts";
import { privateHere, sqlFiles } from "../../show/report_sql/sql_box.ts";
import { type StudyOutputs, writeOutputs } from "../../show/reports_of_study.ts";
import { lockFiles } from "../reproduce/locks.ts";
import { recordedStudy } from "../../lab/recorded_trial.ts";
import { reproductionFiles } from "../reproduce/write_reproduction.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import type { Store } from "../../store/store.ts";
import { evidenceFigures } from "../../show/reports/evidence_figures.ts";
import type { StudyView } from "../../show/view/study_view.ts";

/** What may be said of a report that is written. */
export interface WriteReportOptions {
  /** Its folder; default: the study's own, below `studies/` of PARE_HOME. */
  readonly folder?: string;
  /** Whose it is, in its citation. */
  readonly author?: string;
  /** The engine of its SQL box, too, about 12 MB; default: the box says how to get it. */
  readonly sql?: boolean;
}

/** Writes everything that a study leaves for people: the report, and what runs its trials again. */
export async function writeStudyReport(
  { store, root }: { readonly store: Store; readonly root: string },
  view: StudyView,
  folder: string,
  { author, sql = false }: Omit<WriteReportOptions, "folder"> = {},
): Promise<StudyOutputs> {
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

async function storeOf(lab: Lab): Promise<Store> {
  const store = await lab.store.current();
  if (store !== null) return store;
  throw new UsageError("Cannot write a report: the store holds no study; run one first");
}

/** Where a report goes: what a person names lies in no store. */
function reportFolder({ home }: Lab, folder: string | undefined, own: string): string {
  return folder === undefined
    ? join(home.studies, own)
    : outsideStores(folder, "write a report to");
}

/**
 * Writes the report of a study (the latest where none is named) as `pare report` does: page, figures,
 * tables, and the files that run a trial again. Gives the files, and the lines that load the checkpoint.
 */
export async function writeReport(
  lab: Lab,
  study_id?: string,
  { folder, ...options }: WriteReportOptions = {},
): Promise<StudyOutputs> {
  const view = await lab.view(study_id);
  const target = reportFolder(lab, folder, view.study_id);
  const there = { store: await storeOf(lab), root: lab.home.root };
  return await writeStudyReport(there, view, target, options);
}

/** Writes one report over several studies; it compares what may be compared. Gives its files. */
export async function writeReportOver(
  lab: Lab,
  study_ids: readonly string[],
  { folder, author, sql }: WriteReportOptions = {},
): Promise<string[]> {
  if (sql) {
    throw new UsageError(
      "Cannot put a SQL box into a report over several studies: leave it out, or write each study's",
    );
  }
  const name = `studies-${study_ids.join("+").slice(0, 100)}`;
  const target = reportFolder(lab, folder, name);
  return await writeStudiesReport(await storeOf(lab), study_ids, target, author);
}
