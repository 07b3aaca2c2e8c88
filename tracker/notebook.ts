import type { StudyEvent } from "../core/mod.ts";
import { plotOf, recommendedLoader, reportBlocks } from "./reports_of_study.ts";
import { escapeHtml, renderHtml } from "./reports/render_html.ts";
import { type Broadcast, kernelBroadcast, type Shown, shown } from "./terminal/kernel.ts";
import { phaseLine, progressLine, waitingLine } from "./terminal/live_view.ts";
import { trialTable } from "./terminal/trial_table.ts";
import { recipeText } from "./view/trial_rows.ts";
import type { StudyView } from "./view/study_view.ts";

/** The front as a picture in a notebook. */
export function showPlot(view: StudyView): Shown {
  const svg = plotOf(view);
  return shown({ "image/svg+xml": svg, "text/plain": `Pareto plot of ${view.study_id}` });
}

/** The whole report as a page inside the notebook. */
export async function showReport(view: StudyView): Promise<Shown> {
  const blocks = reportBlocks(view, await recommendedLoader(view));
  const page = renderHtml(view.study_id, blocks);
  const frame = `<iframe srcdoc="${escapeHtml(page)}" style="width:100%;height:640px;border:0">` +
    "</iframe>";
  return shown({ "text/html": frame, "text/plain": `Report of ${view.study_id}` });
}

/** A study's trials, or rows of a query, as a table. */
export function showTable(data: StudyView | readonly Record<string, unknown>[]): Shown {
  if ("rows" in data) {
    const table = trialTable(data);
    const text = data.front_note === null ? table : `${data.front_note}\n\n${table}`;
    return shown({ "text/plain": text, "text/html": `<pre>${escapeHtml(text)}</pre>` });
  }
  const rows = [...data];
  const columns = Object.keys(rows[0] ?? {});
  const head = columns.map((column) => `<th>${escapeHtml(column)}</th>`).join("");
  const body = rows.map((row) =>
    `<tr>${
      columns.map((column) => `<td>${escapeHtml(String(row[column] ?? ""))}</td>`).join("")
    }</tr>`
  ).join("");
  return shown({
    "text/html": `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`,
    "text/plain": JSON.stringify(rows),
  });
}

/** Outside a kernel nothing is shown. */
const NOWHERE: Broadcast = () => Promise.resolve();

/**
 * A cell's live display: give its `onEvent` to `run` and one output moves with the study, finished
 * trials above, the running step below. `now` is in milliseconds.
 */
export function liveCell(
  broadcast: Broadcast = kernelBroadcast() ?? NOWHERE,
  now: () => number = () => Date.now(),
): { onEvent: (event: StudyEvent) => void } {
  const display_id = crypto.randomUUID();
  const finished: string[] = [];
  let step = { label: "", startedAt: 0, from: 0 };
  let running = "";
  let lastShown = -Infinity;
  let first = true;

  const show = (force: boolean) => {
    if (!force && now() - lastShown < 500) return;
    lastShown = now();
    const text = [...finished, running].join("\n");
    const type = first ? "display_data" : "update_display_data";
    first = false;
    void broadcast(type, {
      data: { "text/plain": text, "text/html": `<pre>${escapeHtml(text)}</pre>` },
      metadata: {},
      transient: { display_id },
    });
  };

  return {
    onEvent(event) {
      if (event.event === "progress") {
        if (event.label !== step.label) {
          step = { label: event.label, startedAt: now(), from: event.done };
        }
        running = `${event.trial_id.split("/").at(-1)} ${
          progressLine(event, (now() - step.startedAt) / 1000, step.from)
        }`;
        show(false);
      } else if (event.event === "waiting") {
        running = waitingLine(event);
        show(true);
      } else if (event.event === "phase") {
        running = phaseLine(event);
        show(false);
      } else if (event.record.type === "trial_closed") {
        const { trial } = event.record;
        finished.push(`${trial.trial_id}  ${recipeText(trial)}: ${trial.state}`);
        running = "";
        show(true);
      }
    },
  };
}
