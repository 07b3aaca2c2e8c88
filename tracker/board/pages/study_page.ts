import { html, raw } from "hono/html";
import { isDecisive, metricWords, recipeName, trialName, WEIGHTS } from "../../../core/mod.ts";
import { dataElement } from "../../show/pages/page.ts";
import { endedBy } from "../../show/view/ended_by.ts";
import { endText, type Submission } from "../submission.ts";
import type { DrawnFigure, Row } from "../resources/studies.ts";
import type { Page } from "../resources/trials.ts";
import { layout, type Markup } from "./layout.ts";
import {
  facts,
  figure,
  interval,
  listOf,
  moment,
  noteForm,
  pager,
  path,
  size,
  studyPath,
  table,
  type TableColumn,
  text,
  trialLink,
} from "./parts.ts";

/** What a page of a study shows of its list of trials. */
export interface StudyPageState {
  readonly order: string;
  readonly find: string;
}

const FIGURES: readonly (readonly [DrawnFigure, string])[] = [
  ["hypervolume", "What the front gained by each episode"],
  ["retention", "What is left of each benchmark"],
  ["knobEffects", "What each knob does"],
  ["layerSensitivity", "What each layer would cost"],
  ["energy", "Energy"],
  ["memory", "Memory over time"],
  ["phases", "Where the time went"],
];

function standing(row: Row): string {
  if (row["recommended"] === true) return "recommended";
  if (row["number"] === 0) return "baseline";
  if (row["state"] !== "completed") return text(row["state"]);
  if (Array.isArray(row["violated"]) && row["violated"].length > 0) return "breaks a limit";
  if (!isDecisive(text(row["fidelity"]))) return `${text(row["fidelity"])} only`;
  return row["on_front"] === true ? "front" : "dominated";
}

/** Orders that begin with the least. */
const LESS_FIRST: ReadonlySet<string> = new Set(["perplexity", "latency_ratio", "size_bytes"]);

/** The list of trials; its state is in the address, so that it can be shared. */
function trialList(study_id: string, trials: Page, state: StudyPageState): Markup {
  const address = (more: Record<string, string>) =>
    `?${new URLSearchParams({ ...state, ...more })}#trials`;
  const sorted = (heading: string, order: string, cell: TableColumn["cell"]): TableColumn => ({
    heading,
    cell,
    sorted: order !== state.order ? undefined : LESS_FIRST.has(order) ? "ascending" : "descending",
    numeric: true,
  });
  const columns: TableColumn[] = [
    { heading: "trial", cell: (row) => trialLink(row["trial_id"]) },
    { heading: "recipe", cell: (row) => recipeName(text(row["readable_id"] ?? row["methods"])) },
    { heading: "standing", cell: standing },
    sorted("accuracy", "accuracy", (row) => figure(row["accuracy"])),
    sorted("perplexity", "perplexity", (row) => figure(row["perplexity"])),
    sorted(
      "latency ×",
      "latency_ratio",
      (row) => interval(row["latency_ratio"], row["latency_ratio_low"], row["latency_ratio_high"]),
    ),
    sorted("size", "size_bytes", (row) => size(row["size_bytes"])),
    sorted("reward", "reward", (row) => figure(row["reward"])),
    {
      heading: "compare",
      cell: (row) => {
        const id = text(row["trial_id"]);
        return html`
          <input type="checkbox" name="trial" value="${id}" form="compare-trials"
            aria-label="Compare ${id}">
        `;
      },
    },
  ];
  const orders = [
    "rank",
    "number",
    "accuracy",
    "perplexity",
    "latency_ratio",
    "size_bytes",
    "reward",
  ];
  return html`<section aria-labelledby="trials"><h2 id="trials">Trials</h2>
<form class="line" method="get" action="${studyPath(study_id)}#trials">
<label>Find <input type="search" name="find" value="${state.find}"></label>
<label>Order <select name="order">${
    orders.map((one) =>
      one === state.order
        ? html`<option value="${one}" selected>${metricWords(one)}</option>`
        : html`<option value="${one}">${metricWords(one)}</option>`
    )
  }</select></label><button>Show</button></form>
${
    table(
      "Trials",
      columns,
      trials.rows,
      {
        none: state.find === "" ? "none has begun" : `none has "${state.find}"`,
        sortable: trials.total <= trials.rows.length, // a page of many is sorted by the address
      },
    )
  }
${pager(trials, (page) => address({ page: String(page) }))}
<form id="compare-trials" class="line" method="get" action="/compare">
<button>Compare the two that are marked</button></form></section>`;
}

/** Offered for weighing also where the study weighs them not at all. */
const ALWAYS_WEIGHED: ReadonlySet<string> = new Set([
  "accuracy",
  "latency",
  "size",
  "memory",
  "energy",
]);

function weights(study: Row): Markup {
  const of = (name: string) => Number(study[`weight_${name}`] ?? 0);
  const names = WEIGHTS.filter((name) => ALWAYS_WEIGHED.has(name) || of(name) > 0);
  const rows = names.map((name) => {
    const value = Number(of(name).toPrecision(3));
    return html`<label>${name} <input type="range" name="${name}" min="0" max="1" step="0.05"
value="${value}"><output>${value}</output></label>`;
  });
  return html`
    <form class="weights" data-weigh="${path("api", "studies", text(study["study_id"]), "weigh")}">
      <fieldset><legend>Weights: what others would pick</legend>${rows}
    <p class="weighed" role="status" aria-live="polite"></p></fieldset>
    </form>
  `;
}

const FRONT_FIELDS = [
  ...["trial_id", "methods", "rank", "is_baseline", "recommended", "violated", "front_probability"],
  ...["accuracy", "perplexity", "latency_ratio", "size_bytes", "memory_bytes"],
  ...["latency_ratio_low", "latency_ratio_high"],
];

/** What the script draws, in the page itself: fetched behind it, the page would be there half as fast. */
function frontRows(rows: readonly Row[]): Markup {
  const told = rows.map((row) => Object.fromEntries(FRONT_FIELDS.map((name) => [name, row[name]])));
  const eligible = Number(rows[0]?.["eligible"] ?? rows.length);
  return html`<div data-live="front" hidden>${raw(dataElement("front-rows", told))}${
    raw(dataElement("front-eligible", eligible))
  }</div>`;
}

const MOST_DRAWN_AT_ONCE = 1000;

/** The front: a picture without the script, with it one that can be pointed at and brushed. */
function front(study: Row, rows: readonly Row[]): Markup {
  const id = text(study["study_id"]);
  const source = path("api", "studies", id);
  // Of thousands it is drawn when it is asked for: pairing all their samples takes a while.
  const open = Number(rows[0]?.["eligible"] ?? 0) > MOST_DRAWN_AT_ONCE ? "" : "open";
  const of = study["front_objectives"];
  const objectives = Array.isArray(of) ? of.join(" ") : "";
  return html`<section aria-labelledby="front"><h2 id="front">Front</h2>
${study["front_note"] === null ? "" : html`<p>${text(study["front_note"])}</p>`}
<details ${open} data-figure="${source}/figures/pareto"><summary>As the report draws it: with intervals and
the limit</summary></details>
<div class="front" data-front data-of="${objectives}" data-drop="${
    text(study["max_accuracy_drop"])
  }">
<noscript><img alt="The front of ${id}: quality against cost; the table below has its figures"
src="${source}/figures/pareto?width=800"></noscript></div>
${frontRows(rows)}${weights(study)}</section>`;
}

function failures(study: Row): Markup | string {
  const rows = listOf(study["failures"]);
  if (rows.length === 0) return "";
  return html`
    <section
      aria-labelledby="failures"><h2 id="failures">Why trials ended early</h2>${table(
        `${text(study["failed"])} trials ended early`,
        [
          { heading: "trial", cell: (row) => trialLink(row["trial_id"]) },
          { heading: "methods", cell: (row) => text(row["methods"]) },
          { heading: "at", cell: (row) => text(row["stage"]) },
          { heading: "why", cell: (row) => text(row["reason"]) },
          { heading: "what to do", cell: (row) => text(row["what_to_do"]) },
        ],
        rows,
      )}</section>
  `;
}

function alerts(study: Row): Markup | string {
  const rows = listOf(study["alerts"]);
  if (rows.length === 0) return "";
  return html`<section aria-labelledby="alerts"><h2 id="alerts">Alerts</h2>${
    table("Alerts, the newest first", [
      { heading: "when", cell: (row) => moment(row["happened_at"]) },
      { heading: "trial", cell: (row) => trialLink(row["trial_id"]) },
      { heading: "what", cell: (row) => text(row["condition"]).replaceAll("_", " ") },
      { heading: "evidence", cell: (row) => text(row["evidence"]) },
      { heading: "what came of it", cell: (row) => text(row["outcome"]) },
    ], rows)
  }</section>`;
}

function drawn(id: string): Markup {
  return html`
    <section
      aria-labelledby="figures"><h2 id="figures">Figures</h2>${FIGURES.map(([name, caption]) =>
        html`
          <details data-figure="${path("api", "studies", id, "figures", name)}">
            <summary>${caption}</summary>
          </details>
        `
      )}<noscript><p>The figures: ${FIGURES.map(([name, caption]) =>
        html`
          <a href="${path("api", "studies", id, "figures", name)}">${caption}</a>
        `
      )}</p></noscript></section>
  `;
}

const STATES: Readonly<Record<string, string>> = {
  running: "runs now",
  interrupted: "was interrupted: resume goes on with it",
};

/** What the study came to; the original by its words, as its name says little. */
function recommendedLink(study: Row): Markup | string {
  const link = trialLink(study["recommended"]);
  return study["recommended"] === `${text(study["study_id"])}/${trialName(0)}`
    ? html`${link}, the original`
    : link;
}

function head(study: Row): Markup {
  const stop = endedBy(study["stop"] as string | null);
  const state = stop === null
    ? STATES[text(study["state"])] ?? text(study["state"])
    : `ended by ${stop}`;
  return facts([
    ["state", state],
    ["kind", text(study["kind"])],
    ["model", text(study["model_name"])],
    ["dataset", text(study["dataset"])],
    ["recommended", recommendedLink(study)],
    ["trials", `${text(study["trials"])}, ${text(study["completed"])} complete`],
    ["runtime", text(study["runtime"])],
    ["machine", `${text(study["device_name"])}, ${text(study["cores"])} cores`],
    ["allowed drop", text(study["max_accuracy_drop"])],
    ["seed", text(study["seed"])],
    ["opened", moment(study["opened_at"])],
  ]);
}

/** One study; the parts marked live are fetched again as it goes on. */
export function studyPage(
  study: Row,
  trials: Page,
  onFront: readonly Row[],
  state: StudyPageState,
): Markup {
  const id = text(study["study_id"]);
  const api = path("api", "studies", id);
  return layout({
    title: id,
    at: "studies",
    body: html`
      <h1>${id}</h1>
      <div data-live="head">${head(study)}
      ${study["message"] === null ? "" : html`<p>${text(study["message"])}</p>`}
      ${study["stale"] === null ? "" : html`<p class="refusal">${text(study["stale"])}</p>`}</div>
      <section aria-labelledby="events">
        <h2 id="events">Events</h2>
        <ol class="events" data-events="${api}/events" data-state="${text(study["state"])}"
          aria-label="Events as they are recorded"></ol>
      </section>
      ${front(study, onFront)}
      <div data-live="trials">${trialList(id, trials, state)}</div>
      <div data-live="ended">${failures(study)}${alerts(study)}</div>
      ${drawn(id)}
      ${noteForm(`${api}/notes`, listOf(study["notes"]), Number(study["notes_kept"] ?? 0))}
      <section aria-labelledby="again">
        <h2 id="again">Run it again</h2>
        <pre tabindex="0"><code>${text(study["command"])}</code></pre>
      </section>
    `,
  });
}

/** A study that was submitted and has recorded nothing yet. */
export function submittedPage(submitted: Submission): Markup {
  const { study_id, state, position, said } = submitted;
  const stands = state === "ended"
    ? `${endText(submitted)}; nothing was recorded`
    : state + (position > 0 ? `, place ${position} in line` : "");
  return layout({
    title: study_id,
    at: "studies",
    body: html`
      <h1>${study_id}</h1>
      <div data-live="head" data-again="2000">
        <p>${stands}</p>
        <pre tabindex="0"><code>${said.join("\n")}</code></pre>
      </div>
    `,
  });
}
