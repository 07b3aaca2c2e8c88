import { html } from "hono/html";
import { metricWords } from "../../../core/mod.ts";
import type { StudiesBeside } from "../../show/json/json_shapes.ts";
import { metricIn, sameLines } from "../../show/json/beside.ts";
import type { Row } from "../resources/studies.ts";
import type { Markup } from "./layout.ts";
import { difference, figure, shortName, size, studyPath, table, text, trialPath } from "./parts.ts";

const COUNTS: ReadonlySet<string> = new Set(["trials", "failed"]);

/** A figure of one study; its recommended trial as a link. */
function cell(beside: StudiesBeside, row: Row, which: "first" | "second"): Markup | string {
  const [what, value] = [text(row["what"]), row[which]];
  if (COUNTS.has(what)) return text(value);
  if (what === "quality_difference") {
    return difference(metricIn(beside, which), value, null, null);
  }
  if (typeof value !== "string") return what === "size_bytes" ? size(value) : figure(value);
  return what === "recommended"
    ? html`<a href="${trialPath(value, beside[which])}">${shortName(value)}</a>`
    : value;
}

/** What two studies came to, beside each other, as `pare compare` has them. */
export function studiesCompared(beside: StudiesBeside): Markup {
  const column = (which: "first" | "second") => ({
    heading: beside[which],
    cell: (row: Row) => cell(beside, row, which),
    numeric: true,
  });
  const rows = beside.rows as unknown as Row[]; // fields of a line are values of a row
  return html`
    <section aria-labelledby="studies"><h2 id="studies">Two studies</h2>
    <ul>${sameLines(beside).map((line) => html`<li>${line}</li>`)}</ul>
    <p><a href="${studyPath(beside.first)}">${beside.first}</a> and
      <a href="${studyPath(beside.second)}">${beside.second}</a></p>
    ${table("What each came to", [
      { heading: "what", cell: (row) => metricWords(text(row["what"])), heads: true },
      column("first"),
      column("second"),
    ], rows)}</section>
  `;
}
