import { html } from "hono/html";
import { endedBy } from "../../show/view/ended_by.ts";
import type { BoardJob } from "../board_queue.ts";
import type { Row, StudyLine } from "../resources/studies.ts";
import type { Answers } from "../board_stores.ts";
import { layout, type Markup } from "./layout.ts";
import { moment, studyPath, table, text } from "./parts.ts";

function state(row: Row): string {
  return row["state"] === "ended"
    ? `ended by ${endedBy(row["stop"] as string | null) ?? "–"}`
    : String(row["state"]);
}

/** What is in line, in a sentence with the way to its page. */
function inLine(jobs: readonly BoardJob[]): Markup | string {
  const open = jobs.filter(({ section }) => section !== "ended");
  if (open.length === 0) return "";
  const running = open.filter(({ section }) => section === "running").length;
  return html`<p><a href="/queue">${running} running and ${
    open.length - running
  } waiting</a> in line.</p>`;
}

const EMPTY = html`
  <p>Nothing is recorded in this store yet. Start a study, and it shows here as it
  runs:</p>
  <pre><code>deno task pare run --model demo --dataset demo --max-trials 5</code></pre>
`;

function compare(rows: readonly Row[]): Markup | string {
  if (rows.filter((row) => row["source"] === "pare").length < 2) return "";
  return html`
    <form id="compare-studies" class="line" method="get" action="/compare">
      <button>Compare the two that are marked</button></form>
  `;
}

/** All studies of all stores. */
export function studiesPage(
  { answers: studies, refused }: Answers<StudyLine>,
  jobs: readonly BoardJob[],
  several: boolean,
): Markup {
  const rows = studies as unknown as Row[]; // fields of a line are values of a row
  const columns = [
    {
      heading: "study",
      cell: (row: Row) =>
        html`<a href="${studyPath(text(row["study_id"]))}">${text(row["study_id"])}</a>`,
    },
    { heading: "kind", cell: (row: Row) => text(row["kind"]) },
    { heading: "model", cell: (row: Row) => text(row["model_name"]) },
    { heading: "dataset", cell: (row: Row) => text(row["dataset"]) },
    { heading: "trials", cell: (row: Row) => text(row["trials"]), numeric: true },
    {
      heading: "state",
      cell: (row: Row) =>
        row["source"] === "pare" ? state(row) : `imported from ${text(row["source"])}`,
    },
    { heading: "opened", cell: (row: Row) => moment(row["opened_at"]) },
    {
      heading: "compare",
      cell: (row: Row) =>
        row["source"] !== "pare" ? "" : html`
          <input type="checkbox" name="study"
            value="${text(row["study_id"])}" form="compare-studies"
            aria-label="Compare ${text(row["study_id"])}">
        `,
    },
    ...several ? [{ heading: "store", cell: (row: Row) => text(row["store"]) }] : [],
  ];
  return layout({
    title: "Studies",
    at: "studies",
    body: html`<h1>Studies</h1>
${refused.map(({ message }) => html`<p class="refusal">${message}</p>`)}
${inLine(jobs)}
${rows.length === 0 ? EMPTY : table("Studies, the newest first", columns, rows)}${compare(rows)}`,
  });
}
