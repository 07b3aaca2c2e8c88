import { html, raw } from "hono/html";
import type { Layout, ServingPlan } from "../../../core/serving/plan/schema.ts";
import { planFigure } from "../../show/plan/plan_figure.ts";
import {
  cacheLine,
  cacheTable,
  chosenPlan,
  commandText,
  count,
  fewestLine,
  headline,
  howSure,
  layoutsTable,
  type PlanTable,
  spreadText,
  weightsTable,
} from "../../show/plan/plan_tables.ts";
import { layout, type Markup } from "./layout.ts";
import { table } from "./parts.ts";

/** What the page's form has, as it was typed. */
export interface PlanForm {
  readonly model: string;
  readonly gpus: string;
  readonly context: string;
  readonly sequences: string;
  readonly cache_type: string;
}

function tableOf(caption: string, { head, rows }: PlanTable): Markup {
  return table(
    caption,
    head.map((heading, column) => ({ heading, cell: (row) => String(row[column] ?? "") })),
    rows.map((cells) => Object.fromEntries(cells.entries())),
    { sortable: false },
  );
}

const list = (sentences: readonly string[]) =>
  sentences.length === 0 ? "" : html`<ul>${sentences.map((one) => html`<li>${one}</li>`)}</ul>`;

function commands(plan: ServingPlan, chosen: Layout): Markup {
  return html`
    <section aria-labelledby="commands">
      <h2 id="commands">Commands for ${chosen.cards} × ${plan.cards.name}, ${spreadText(chosen)},
        ${count(chosen.context)} tokens</h2>
      ${Object.entries(chosen.servers).map(([server, served]) =>
        html`
          <h3>${server}${served.runs ? "" : " (not on these cards)"}</h3>
          <pre tabindex="0"><code>${commandText(served.command)}</code></pre>
          <details>
            <summary>In a container</summary>
            <pre tabindex="0"><code>${commandText(served.container)}</code></pre>
          </details>
          ${list(served.warnings)}
        `
      )}
    </section>
  `;
}

function answer(plan: ServingPlan): Markup {
  const chosen = chosenPlan(plan);
  return html`
    <p>${headline(plan)}</p>
    ${plan.corrections.map((one) => html`<p class="refusal">Not so: ${one}</p>`)}
    ${plan.refused.map(({ why }) => html`<p class="refusal">Refused: ${why}</p>`)}
    <section aria-labelledby="cards">
      <h2 id="cards">Cards</h2>
      <p>${fewestLine(plan)}</p>
      ${raw(planFigure(plan))}
      ${tableOf("Spreads over cards", layoutsTable(plan))}
      ${list([...howSure(plan), ...plan.warnings])}
    </section>
    <section aria-labelledby="weights">
      <h2 id="weights">Weights and cache</h2>
      ${tableOf("Weights", weightsTable(plan))}
      <p>${cacheLine(plan)}</p>
      ${tableOf("Cache", cacheTable(plan))}
    </section>
    ${chosen === undefined ? "" : commands(plan, chosen)}
  `;
}

function field(name: keyof PlanForm, label: string, form: PlanForm, hint: string): Markup {
  return html`<label>${label} <input name="${name}" value="${form[name]}"
    placeholder="${hint}" autocomplete="off"></label>`;
}

/** What it takes to serve a model; the question is in the address, so that an answer can be shared. */
export function planPage(
  form: PlanForm,
  found: { readonly plan: ServingPlan | null; readonly refused: string | null },
): Markup {
  return layout({
    title: "Plan",
    at: "plan",
    body: html`
      <h1>Plan a served model</h1>
      <form method="get" action="/plan">
        ${field("model", "Model", form, "Qwen/Qwen3-32B, a folder, STUDY/t03")}
        ${field("gpus", "Cards", form, "2xH100-80")}
        ${field("context", "Context", form, "the longest")}
        ${field("sequences", "Sequences", form, "1")}
        ${field("cache_type", "Type of the cache", form, "auto")}
        <button type="submit">Plan</button>
      </form>
      ${found.refused === null ? "" : html`<p class="refusal" role="alert">${found.refused}</p>`}
      ${found.plan === null ? "" : answer(found.plan)}
    `,
  });
}
