import { join } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { type WriteReportOptions, writeStudyReport } from "../exchange/publish/write_report.ts";
import type { Home } from "../ground/home.ts";
import { outsideStores } from "../ground/storage/outside_stores.ts";
import type { LabStore } from "../lab/lab_store.ts";
import { writeStudiesReport } from "../show/report_of_studies.ts";
import type { StudyOutputs } from "../show/reports_of_study.ts";
import type { StudyView } from "../show/view/study_view.ts";
import type { Store } from "../store/store.ts";

/** Where a study is recorded that is reported on, and its home. */
interface Reported {
  readonly home: Home;
  readonly store: Pick<LabStore, "current">;
}

async function storeOf(there: Reported): Promise<Store> {
  const store = await there.store.current();
  if (store !== null) return store;
  throw new UsageError("Cannot write a report: the store holds no study; run one first");
}

/** Where a report goes: what a person names lies in no store. */
function reportFolder({ home }: Reported, folder: string | undefined, own: string): string {
  return folder === undefined
    ? join(home.studies, own)
    : outsideStores(folder, "write a report to");
}

/** Writes the report of a study as it is seen: see `writeReport`. */
export async function writeReportOf(
  there: Reported,
  view: StudyView,
  { folder, ...options }: WriteReportOptions = {},
): Promise<StudyOutputs> {
  const target = reportFolder(there, folder, view.study_id);
  const from = { store: await storeOf(there), root: there.home.root };
  return await writeStudyReport(from, view, target, options);
}

/**
 * Writes the report of a study (the latest where none is named) as `pare report` does: page, figures,
 * tables, and the files that run a trial again. Gives the files, and the lines that load the checkpoint.
 */
export async function writeReport(
  lab: Reported & { view(study_id?: string): Promise<StudyView> },
  study_id?: string,
  options?: WriteReportOptions,
): Promise<StudyOutputs> {
  return await writeReportOf(lab, await lab.view(study_id), options);
}

/** Writes one report over several studies; it compares what may be compared. Gives its files. */
export async function writeReportOver(
  lab: Reported,
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
