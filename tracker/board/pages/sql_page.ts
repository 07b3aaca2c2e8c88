import { html } from "hono/html";
import { cellText, countText, isNumeric } from "../../store/query/printed_answer.ts";
import type { QueryResult } from "../../store/query/result.ts";
import { QUESTIONS } from "../../show/pages/questions.ts";
import type { Row } from "../resources/studies.ts";
import { layout, type Markup } from "./layout.ts";
import { listOf, table, text } from "./parts.ts";

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
  return html`${table("Answer", columns, answer.rows, "no rows")}
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

/** The schema's own comments, a table or view each. */
function documentation(views: readonly Row[]): Markup {
  return html`<section aria-labelledby="views"><h2 id="views">Tables and views</h2>${
    views.map((view) =>
      html`<details><summary><code>${text(view["name"])}</code> ${
        view["comment"] === null ? "" : text(view["comment"])
      }</summary>${
        table(`Columns of ${text(view["name"])}`, [
          {
            heading: "column",
            cell: (row) => html`<code>${text(row["name"])}</code>`,
          },
          { heading: "type", cell: (row) => text(row["type"]) },
          {
            heading: "what it is",
            cell: (row) => row["comment"] === null ? "" : text(row["comment"]),
          },
        ], listOf(view["columns"]))
      }</details>`
    )
  }</section>`;
}

/** A box for SQL; the statement is in the address, so that an answer can be shared. */
export function sqlPage(state: SqlPageState): Markup {
  const address = (sql: string) => `/sql?${new URLSearchParams({ sql })}`;
  return layout({
    title: "SQL",
    at: "sql",
    body: html`
      <h1>Ask in SQL</h1>
      <form class="sql" method="get" action="/sql">
        <label>One statement that reads
      <textarea name="sql" rows="6" spellcheck="false" maxlength="100000" required>${state
        .sql}</textarea></label>
        <div class="line">${storeChoice(state)}<button>Ask</button>
      <button type="button" data-save hidden>Save this question</button></div>
      </form>
      <div data-answer>${answer(state)}</div>
      <section aria-labelledby="questions">
        <h2 id="questions">Questions</h2>
        <ul class="questions">${QUESTIONS.map(({ title, sql }) =>
          html`<li><a href="${address(sql)}">${title}</a></li>`
        )}</ul>
        <ul class="questions" data-saved aria-label="Questions saved in this browser"></ul>
      </section>
      ${documentation(state.views)}
    `,
  });
}
