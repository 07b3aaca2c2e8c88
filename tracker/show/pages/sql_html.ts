import { escapeHtml } from "./page.ts";

/** What a page's SQL box is told. */
export interface SqlBox {
  /** Beside the page; its scripts hand over the engine and the data. */
  readonly folder: string;
  readonly questions: readonly { readonly title: string; readonly sql: string }[];
}

/** What to do where a report has no engine beside it. */
export function withoutBox(study_id: string): string {
  return "The study's own data can be asked in the page: `npx -y deno task pare report " +
    `${study_id} --sql\` writes a folder with them and with DuckDB, about 12 MB, beside report.html; ` +
    "keep both together.";
}

/** The box as the script finds it; without script it is not there. */
export function sqlHtml({ questions }: SqlBox, sentence: string): string {
  const asked = questions.map(({ title }, at) =>
    `<option value="${at}">${escapeHtml(title)}</option>`
  );
  return `<p data-pare-sql-without hidden>${sentence}</p>
<noscript><p>The box needs a browser that runs scripts.</p></noscript>
<details data-pare-sql><summary>Open the box: DuckDB with this study's tables</summary>
<p role="status" aria-live="polite" data-pare-sql-status></p>
<form autocomplete="off" hidden>
<p><label>A question to begin with <select name="question"><option value="">–</option>${
    asked.join("")
  }</select></label></p>
<p><label for="pare-sql-text">SQL (Ctrl or Cmd with Enter runs it)</label><br>
<textarea id="pare-sql-text" name="sql" rows="6" spellcheck="false"></textarea></p>
<p><button type="submit">Run</button> <button type="button" name="stop" disabled>Stop</button></p>
</form>
<div data-pare-sql-answer></div>
<details data-pare-sql-tables hidden><summary>Tables and what they hold</summary><div></div></details>
</details>`;
}
