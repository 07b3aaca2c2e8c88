import { html } from "hono/html";
import { metricOf, metricWords } from "../../../core/mod.ts";
import type { StudiesBeside, TrialsBeside } from "../../show/json/json_shapes.ts";
import type { Row } from "../resources/studies.ts";
import type { Page } from "../resources/trials.ts";
import { studiesCompared } from "./compare_studies.ts";
import { costWords } from "../../show/json/beside.ts";
import { layout, type Markup } from "./layout.ts";
import { difference, figure, listOf, size, table, text, trialPath } from "./parts.ts";
import { type SamplesState, sampleTable } from "./trial_page.ts";

function form(first: string, second: string): Markup {
  return html`<form class="line" method="get" action="/compare">
<label>First <input name="first" size="32" value="${first}" required placeholder="STUDY/t00 or STUDY"></label>
<label>Second <input name="second" size="32" value="${second}" required placeholder="STUDY/t01 or STUDY"></label>
<button>Compare</button></form>`;
}

function tasks({ tasks }: TrialsBeside): Markup {
  const rows = tasks as unknown as Row[]; // fields of a task are values of a row
  return table("Quality, the second against the first", [
    { heading: "task", cell: (row) => text(row["task"]) },
    { heading: "metric", cell: (row) => metricWords(text(row["metric"])) },
    { heading: "first", cell: (row) => figure(row["first"]), numeric: true },
    { heading: "second", cell: (row) => figure(row["second"]), numeric: true },
    {
      heading: "difference [95 %]",
      cell: (row) => {
        const [low, high] = (row["interval"] as number[] | null) ?? [];
        return difference(row["metric"], row["difference"], low, high);
      },
      numeric: true,
    },
    { heading: "p (Holm)", cell: (row) => figure(row["p_adjusted"], 2), numeric: true },
    { heading: "n", cell: (row) => text(row["n"]), numeric: true },
  ], rows);
}

/** How a cost came to be, where either trial did not measure it: an estimate is no measurement. */
function howSaid(metric: string, trials: readonly Row[]): string {
  const how = new Set(
    trials.flatMap((trial) => listOf(trial["measurements"]))
      .filter((row) => row["metric"] === metric && row["provenance"] !== "measured")
      .map((row) => text(row["provenance"])),
  );
  return how.size === 0 ? "" : ` (${[...how].join(", ")})`;
}

function costs({ costs }: TrialsBeside, trials: readonly Row[]): Markup {
  const rows = costs as unknown as Row[]; // fields of a cost are values of a row
  const shown = (row: Row, which: string) =>
    metricOf(text(row["metric"]))?.unit === "bytes" ? size(row[which]) : figure(row[which]);
  return table("Costs", [
    {
      heading: "cost",
      cell: (row) => {
        const metric = text(row["metric"]);
        return costWords(metric) + howSaid(metric, trials);
      },
    },
    { heading: "first", cell: (row) => shown(row, "first"), numeric: true },
    { heading: "second", cell: (row) => shown(row, "second"), numeric: true },
    { heading: "ratio", cell: (row) => figure(row["ratio"]), numeric: true },
  ], rows);
}

/** What a trial was made by, in the order of its knobs. */
function recipes(first: Row, second: Row): Markup {
  const words = (trial: Row) => {
    const actions = Array.isArray(trial["actions"]) ? trial["actions"] as unknown as Row[] : [];
    return actions.length === 0 ? html`the original` : html`<ol>${
      actions.map((action) => {
        const knobs = (action["knobs"] ?? []) as unknown as Row[];
        const told = knobs.map((one) => `${text(one["knob"])} ${text(one["value"])}`).join(", ");
        return html`<li><strong>${text(action["method"])}</strong> ${told}</li>`;
      })
    }</ol>`;
  };
  const column = (heading: string, trial: Row) =>
    html`<div><h3>${heading}: <a href="${
      trialPath(text(trial["trial_id"]), text(trial["study_id"]))
    }">${text(trial["trial_id"])}</a></h3>${words(trial)}</div>`;
  return html`<div class="beside">${column("First", first)}${column("Second", second)}</div>`;
}

/** Two studies side by side, at an address of their own. */
export function compareStudiesPage(beside: StudiesBeside): Markup {
  return layout({
    title: "Compare",
    at: "compare",
    body: html`<h1>Compare two studies</h1>${form(beside.first, beside.second)}${
      studiesCompared(beside)
    }`,
  });
}

/** Two trials side by side; without two names the form alone. */
export function comparePage(
  names: { first: string; second: string },
  found: {
    beside: TrialsBeside;
    trials: readonly [Row, Row];
    samples: Page;
    state: SamplesState;
  } | null,
): Markup {
  const address = (more: Record<string, string>) =>
    `/compare?${new URLSearchParams({ ...names, ...found?.state, ...more })}#samples`;
  return layout({
    title: "Compare",
    at: "compare",
    body: html`<h1>${found === null ? "Compare" : "Compare two trials"}</h1>${
      form(names.first, names.second)
    }${
      found === null
        ? html`<p>Name two trials or two studies, or mark two on a study's page or among the studies.</p>`
        : html`
          <section aria-labelledby="recipes"><h2 id="recipes">Recipes</h2>${recipes(
            found.trials[0],
            found.trials[1],
          )}</section>
          <section aria-labelledby="quality"><h2 id="quality">Quality</h2>${tasks(
            found.beside,
          )}${found.beside.refused.map((one) => html`<p class="refusal">${one}</p>`)}</section>
          <section aria-labelledby="costs"><h2 id="costs">Costs</h2>${costs(
            found.beside,
            found.trials,
          )}</section>
          <section
            aria-labelledby="samples"><h2 id="samples">Samples won and lost by the second</h2>${sampleTable(
              found.samples,
              found.state,
              address,
            )}</section>
        `
    }`,
  });
}
