import { html, raw } from "hono/html";
import type { Value } from "../../store/query/result.ts";
import { type Column, tableHtml } from "../../show/pages/client/table.js";
import { differenceText } from "../../show/view/difference_text.ts";
import { bytes, duration, number } from "../../show/view/number_text.ts";
import type { Row } from "../resources/studies.ts";
import type { Markup } from "./layout.ts";

/** A path of which each part is one name, whatever stands in it. */
export function path(...parts: readonly string[]): string {
  return "/" + parts.map(encodeURIComponent).join("/");
}

export const studyPath = (study_id: string) => path("studies", study_id);

/** `STUDY/t03` without its study. */
export const shortName = (trial_id: string) => trial_id.slice(trial_id.lastIndexOf("/") + 1);

/** A trial's page; a trial is named by its study and its short name. */
export function trialPath(trial_id: string, study_id?: string): string {
  const study = study_id ?? trial_id.slice(0, Math.max(0, trial_id.lastIndexOf("/")));
  const name = trial_id.startsWith(`${study}/`) ? trial_id.slice(study.length + 1) : trial_id;
  return path("studies", study, "trials", name);
}

export function trialLink(trial_id: Value | undefined): Markup | string {
  if (typeof trial_id !== "string") return "–";
  return html`<a href="${trialPath(trial_id)}">${shortName(trial_id)}</a>`;
}

export const text = (value: Value | undefined): string =>
  value === null || value === undefined ? "–" : String(value);

const numeric = (value: Value | undefined): number | null =>
  typeof value === "number" ? value : null;

export const figure = (value: Value | undefined, digits = 3): string =>
  number(numeric(value), digits);

export const size = (value: Value | undefined): string => bytes(numeric(value));

export const seconds = (value: Value | undefined): string =>
  numeric(value) === null ? "–" : duration(numeric(value)!);

/** A difference of a metric with its interval, as `pare compare` and the report write it. */
export function difference(
  metric: Value | undefined,
  value: Value | undefined,
  low: Value | undefined,
  high: Value | undefined,
): string {
  const [from, to] = [numeric(low), numeric(high)];
  const interval = from === null || to === null ? null : [from, to] as const;
  return differenceText({ metric: text(metric), value: numeric(value), interval });
}

/** `0.612 [0.58, 0.64]`. */
export function interval(
  value: Value | undefined,
  low: Value | undefined,
  high: Value | undefined,
) {
  if (numeric(value) === null) return "–";
  const ends = numeric(low) === null || numeric(high) === null
    ? ""
    : ` [${figure(low)}, ${figure(high)}]`;
  return `${figure(value)}${ends}`;
}

export function moment(value: Value | undefined): Markup | string {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) return "–";
  const iso = value.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** A list in a row of SQL. */
export function listOf(value: Value | undefined): Row[] {
  return Array.isArray(value) ? value as unknown as Row[] : []; // list(struct) of a statement here
}

export type TableColumn = Omit<Column<Row>, "cell"> & {
  readonly cell: (row: Row) => Markup | string;
};

/** The table of every page, with what this one's cells are made of; it says so where it has no rows. */
export function table(
  caption: string,
  columns: readonly TableColumn[],
  rows: readonly Row[],
  { none = "none", sortable = true }: { readonly none?: string; readonly sortable?: boolean } = {},
): Markup {
  if (rows.length === 0) return html`<p class="none">${caption}: ${none}</p>`;
  const made = columns.map((column): Column<Row> => ({
    ...column,
    cell: (row) => {
      const cell = column.cell(row);
      return typeof cell === "string" ? cell : { html: String(cell) };
    },
  }));
  return raw(tableHtml(made, rows, { caption, sortable }));
}

/** Pages of a list, as links: the state is in the address. */
export function pager(
  { page, page_size, total }: { page: number; page_size: number; total: number },
  href: (page: number) => string,
): Markup | string {
  const last = Math.max(1, Math.ceil(total / page_size));
  if (last === 1) return "";
  const before = page > 1
    ? html`<a rel="prev" href="${href(Math.min(page - 1, last))}">Previous</a>`
    : "";
  const next = page < last ? html`<a rel="next" href="${href(page + 1)}">Next</a>` : "";
  return html`<nav class="pager" aria-label="Pages">${before}
<span>page ${page} of ${last}, ${total} in all</span> ${next}</nav>`;
}

/** Words as pairs. */
export function facts(pairs: readonly (readonly [string, Markup | string])[]): Markup {
  return html`<dl>${
    pairs.map(([name, value]) =>
      html`
        <div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>
      `
    )
  }</dl>`;
}

/**
 * A form that keeps a sentence with a study or a trial; the script sends it as JSON. `kept`: how many
 * notes there are, where not all were read.
 */
export function noteForm(
  address: string,
  notes: readonly Row[],
  kept = notes.length,
): Markup {
  const tags = [
    ...new Set(notes.flatMap((one) => String(one["text"] ?? "").match(/#[\p{L}\d_-]+/gu) ?? [])),
  ];
  const item = (one: Row) =>
    html`<li>${
      typeof one["trial_id"] === "string"
        ? html`
          ${trialLink(one["trial_id"])}:
        `
        : ""
    }${text(one["text"])} <small>${moment(one["written_at"])}</small></li>`;
  const ofTrials = notes.filter((one) => typeof one["trial_id"] === "string");
  const own = notes.filter((one) => typeof one["trial_id"] !== "string");
  const onTrials = kept > notes.length
    ? `The newest ${ofTrials.length} of ${kept - own.length} notes on its trials`
    : `${ofTrials.length} notes on its trials`;
  const list = html`${
    own.length === 0 ? html`<p class="none">No notes.</p>` : html`<ul>${own.map(item)}</ul>`
  }${
    ofTrials.length === 0 ? "" : html`
      <details>
        <summary>${onTrials}</summary>
        <ul>${ofTrials.map(item)}</ul>
      </details>
    `
  }`;
  return html`<section aria-labelledby="notes"><h2 id="notes">Notes and tags</h2>
${
    tags.length === 0 ? "" : html`<p class="tags">${
      tags.map((tag) =>
        html`
          <span>${tag}</span>
        `
      )
    }</p>`
  }
${list}
<form class="note" data-note="${address}">
<label>A note; a word such as #keep is a tag
<input name="text" required maxlength="10000" autocomplete="off"></label>
<button>Keep</button></form></section>`;
}
