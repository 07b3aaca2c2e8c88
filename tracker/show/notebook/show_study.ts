import { UsageError } from "../../../core/mod.ts";
import { plotOf, type PlotOptions, recommendedLoader, reportBlocks } from "../reports_of_study.ts";
import { escapeHtml } from "../pages/client/table.js";
import { renderHtml } from "../reports/render_html.ts";
import type { Shown } from "../../ground/terminal/kernel.ts";
import type { StudyView } from "../view/study_view.ts";
import { cardMedia } from "./cards.ts";
import { displayed } from "./display.ts";
import { showFigure, type ShownFigure } from "./figure.ts";
import { rowsMedia, type TableWords } from "./table.ts";
import { trialsMedia } from "./trial_tables.ts";

/** The front as a picture, drawn as the options say; throws where the view is none. */
export function showPlot(view: StudyView, options: PlotOptions = {}): ShownFigure {
  requireView(view, "plot");
  return showFigure(plotOf(view, options), { text: `Pareto plot of ${view.study_id}` });
}

function requireView(view: StudyView, what: string): void {
  if (Array.isArray(view?.rows) && view.facts !== undefined) return;
  throw new UsageError(
    `Cannot show a ${what} of that: give the view of a study, such as \`await study.view()\``,
  );
}

/** A page inside a notebook's page. */
export function pageFrame(title: string, page: string): string {
  return `<iframe srcdoc="${escapeHtml(page)}" title="${escapeHtml(title)}" ` +
    `style="width:100%;height:640px;border:0;background:white"></iframe>`;
}

/**
 * The whole report as a page inside the notebook. A notebook that nobody trusts shows no page: its
 * outcome stands above it in plain HTML, with what to do to see the whole.
 */
export async function showReport(view: StudyView): Promise<Shown> {
  requireView(view, "report");
  const page = renderHtml(
    view.study_id,
    reportBlocks(view, { loader: await recommendedLoader(view) }),
  );
  const summary = cardMedia(`Report of ${view.study_id}`, [
    ["ended", view.message ?? "not yet: it is open, or was killed"],
    ...view.reasons.map((reason, at): [string, string] => [at === 0 ? "recommended" : "", reason]),
    [
      "whole report",
      "below. Where nothing stands below, this notebook is not trusted: choose Trust Notebook from " +
      "the commands, or run the cell again",
    ],
  ], [trialsMedia(view, view.front)]);
  return displayed({}, () => ({
    "text/html": summary["text/html"] + pageFrame(`Report of ${view.study_id}`, page),
    "text/plain": summary["text/plain"]!,
  }));
}

/** What a table may be told: which columns, and what stands above it. */
export interface TableOptions extends TableWords {
  /** Their names in order; default: all. */
  readonly columns?: readonly string[];
}

/**
 * A study's trials, or any rows, as a table that a click on a heading sorts. Nested figures are opened
 * into columns, numbers rounded; the rows stay as they are.
 *
 * ```ts
 * showTable([{ trial: "t01", size_bytes: 163_226_416 }], { title: "what it takes" });
 * ```
 */
export function showTable(data: StudyView | readonly object[], options: TableOptions = {}): Shown {
  if (Array.isArray(data)) {
    const wrong = data.find((row) => typeof row !== "object" || row === null);
    const rows = wrong === undefined ? data : data.map((value) => ({ value }));
    return displayed({}, () => rowsMedia(rows.map(withoutTwice), options));
  }
  const view = data as StudyView;
  requireView(view, "table");
  return displayed({}, () => trialsMedia(view));
}

/** A trial's row of a view has its figures twice: under their own names, and all in `figures`. */
function withoutTwice(row: object): object {
  if (!("figures" in row && "recipe" in row)) return row;
  const { figures, ...own } = row;
  const other = Object.entries(figures ?? {}).filter(([name]) => !(name in own));
  return { ...own, ...Object.fromEntries(other) };
}
