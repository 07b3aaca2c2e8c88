import { html, raw } from "hono/html";
import { cellText, countText, isNumeric } from "../../store/query/printed_answer.ts";
import type { QueryResult } from "../../store/query/result.ts";
import { tablesHtml, type ToldTable } from "../../show/pages/client/sql_tables.js";
import { QUESTIONS } from "../../show/pages/questions.ts";
import { sqlForm } from "../../show/pages/sql_html.ts";
import type { Row } from "../resources/studies.ts";
import { layout, type Markup } from "./layout.ts";
import { table } from "./parts.ts";

export interface SqlPageState {
  readonly sql: string;
  readonly store: string;
  readonly stores: readonly string[];
  /** Null: nothing was asked. */
  readonly answer: QueryResult | null;
  /** Why there is no answer. */
  readonly refused: string | null;
  readonly views: readonly Row[];
}

function answer({ answer, refused }: SqlPageState): Markup | string {
  if (refused !== null) return html`<p class="refusal" role="alert">${refused}</p>`;
  if (answer === null) return "";
  const columns = answer.columns.map(({ name, type }) => ({
    heading: name,
    cell: (row: Row) => row[name] === null ? "NULL" : cellText(row[name] ?? null, type),
    numeric: isNumeric(type),
  }));
  return html`${
    table("Answer", columns, answer.rows, {
      ...{ none: "no rows", sortable: !answer.capped },
    })
  }
<p>${countText(answer)}${answer.capped ? ": write LIMIT and OFFSET for others" : ""}</p>
${answer.stale === null ? "" : html`<p class="refusal">${answer.stale}</p>`}`;
}

function storeChoice({ stores, store }: SqlPageState): Markup | string {
  if (stores.length < 2) return "";
  return html`<label>Store <select name="store">${
    stores.map((one) =>
      one === store ? html`<option selected>${one}</option>` : html`<option>${one}</option>`
    )
  }</select></label>`;
}

/** A box for SQL; the statement is in the address, so that an answer can be shared. */
export function sqlPage(state: SqlPageState): Markup {
  const beside = html`${storeChoice(state)}
<button type="button" name="save" hidden>Save this question</button>
<button type="button" name="remove" hidden>Remove the saved question</button>`;
  const form = sqlForm({
    ...{ questions: QUESTIONS, sql: state.sql, beside: String(beside) },
    attributes: 'method="get" action="/sql"',
  });
  const tables = state.views as unknown as readonly ToldTable[]; // rows of a statement here
  return layout({
    title: "SQL",
    at: "sql",
    body: html`
      <h1>Ask in SQL</h1>
      ${raw(form)}
      <div data-answer>${answer(state)}</div>
      <section aria-labelledby="views">
        <h2 id="views">Tables and views</h2>
        ${raw(tablesHtml(tables))}
      </section>
    `,
  });
}
