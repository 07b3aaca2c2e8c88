import { escapeHtml } from "./client/table.js";

/** A question that a box offers. */
export interface Question {
  readonly title: string;
  readonly sql: string;
}

/** What a report's SQL box is told. */
export interface SqlBox {
  /** Beside the page; its scripts hand over the engine and the data. */
  readonly folder: string;
  readonly questions: readonly Question[];
}

/** What to do where a report has no engine beside it. */
export function withoutBox(study_id: string): string {
  return "The study's own data can be asked in the page: `npx -y deno task pare report " +
    `${study_id} --sql\` writes a folder with them and with DuckDB, about 12 MB, beside report.html; ` +
    "keep both together.";
}

/** What differs between the forms of two pages. */
interface SqlForm {
  readonly questions: readonly Question[];
  /** Attributes of the form, such as where it sends its statement; markup. */
  readonly attributes: string;
  /** What stands in it; absent: nothing yet. */
  readonly sql?: string;
  /** Markup beside the button that runs it. */
  readonly beside: string;
}

/** The form that a statement is written into, the same wherever it is asked. */
export function sqlForm({ questions, attributes, sql = "", beside }: SqlForm): string {
  const asked = questions.map(({ title, sql }) =>
    `<option value="${escapeHtml(sql)}">${escapeHtml(title)}</option>`
  );
  return `<form class="sql" data-pare-sql-form autocomplete="off" ${attributes}>
<p><label>A question to begin with <select data-pare-question><option value="">–</option>${
    asked.join("")
  }</select></label></p>
<p><label>SQL (Ctrl or Cmd with Enter runs it)<br>
<textarea name="sql" rows="6" spellcheck="false" maxlength="100000" required>${
    escapeHtml(sql)
  }</textarea></label></p>
<p><button type="submit">Run</button> ${beside}</p>
</form>`;
}

/** The box of a report as the script finds it; without script it is not there. */
export function sqlHtml({ questions }: SqlBox, sentence: string): string {
  const stop = '<button type="button" name="stop" disabled>Stop</button>';
  return `<p data-pare-sql-without hidden>${sentence}</p>
<noscript><p>The box needs a browser that runs scripts.</p></noscript>
<details data-pare-sql><summary>Open the box: DuckDB with this study's tables</summary>
<p role="status" aria-live="polite" data-pare-sql-status></p>
${sqlForm({ questions, attributes: "hidden", beside: stop })}
<div data-pare-sql-answer></div>
<details data-pare-sql-tables hidden><summary>Tables and what they hold</summary><div></div></details>
</details>`;
}
