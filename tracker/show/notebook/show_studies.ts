import { trialName, UsageError } from "../../../core/mod.ts";
import { reportOfStudies, writeReportOfStudies } from "../report_of_studies.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import type { Store } from "../../store/store.ts";
import { type Comparand, idOf } from "../view/compare_any.ts";
import { cardMedia } from "./cards.ts";
import { type Displayed, displayed } from "./display.ts";
import { pageFrame } from "./show_study.ts";

/** Where a report over studies goes, and who is named as its author. */
export interface StudiesReportOptions {
  /** Written there: page, Markdown, CSV and figures. Default: it is shown alone. */
  readonly folder?: string;
  readonly author?: string;
}

/** One report over several studies; a cell shows its page. */
export type ShownStudies = Displayed<{
  readonly html: string;
  /** What was written; empty where no folder was named. */
  readonly files: readonly string[];
}>;

/** One report over several studies, as a cell's last value; in a folder where one is named. */
export async function showStudies(
  store: Store,
  studies: readonly Comparand[],
  { folder, author }: StudiesReportOptions = {},
): Promise<ShownStudies> {
  if (!Array.isArray(studies)) {
    throw new UsageError(
      'Cannot report over that: give a list of studies, such as lab.report([study, "other-study"])',
    );
  }
  const report = await reportOfStudies(store, studies.map(idOf), author);
  const files = folder === undefined
    ? []
    : await writeReportOfStudies(report, outsideStores(folder, "write the report to"));
  const said = report.studies.map(({ view }): [string, string] => {
    const row = view.rows.find(({ trial_id }) => trial_id === view.recommended);
    const chosen = row === undefined ? "keep the original" : trialName(row.number);
    return [view.study_id, row === undefined ? chosen : `${chosen}: ${row.recipe}`];
  });
  const title = `Report over ${report.studies.length} studies`;
  return displayed({ html: report.html, files }, () => {
    const summary = cardMedia(title, [
      ...said,
      ...files.map((file, at): [string, string] => [at === 0 ? "written" : "", file]),
    ], []);
    return {
      "text/html": summary["text/html"] + pageFrame(title, report.html),
      "text/plain": summary["text/plain"]!,
    };
  });
}
