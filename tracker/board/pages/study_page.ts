import { html, raw } from "hono/html";
import { KINDS, metricWords, recipeName, trialName } from "../../../core/mod.ts";
import { endedBy } from "../../show/view/ended_by.ts";
import { type ScoringNote, scoringNotes } from "../../show/view/scored_again.ts";
import type { DrawnFigure } from "../resources/figures.ts";
import type { Row } from "../resources/studies.ts";
import type { BoardJob } from "../board_queue.ts";
import type { Page } from "../resources/trials.ts";
import { front, ratio, standingOf } from "./front_section.ts";
import { layout, type Markup } from "./layout.ts";
import { jobStands } from "./queue_page.ts";
import {
  facts,
  figure,
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
  /** What its kind shows in place of trials, as HTML; null: trials. */
  readonly own: string | null;
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

/** Of a study whose prompts are read before anything is scored. */
const CACHE_FIGURES: typeof FIGURES = [
  ["qualityByCache", "What each cache policy keeps of quality"],
  ["needleMap", "Which needles are found, by length and depth"],
  ["cacheByContext", "What a context costs, by its length"],
  ["keptPlaces", "Where in a context each layer keeps tokens"],
];

/** Orders that begin with the least. */
const LESS_FIRST: ReadonlySet<string> = new Set([
  "perplexity",
  "latency_ratio",
  "size_bytes",
  "context_kv_bytes",
]);

/** The list of trials; its state is in the address, so that it can be shared. */
function trialList(study_id: string, trials: Page, state: StudyPageState): Markup {
  const address = (more: Record<string, string>) =>
    `?${new URLSearchParams({ order: state.order, find: state.find, ...more })}#trials`;
  const sorted = (heading: string, order: string, cell: TableColumn["cell"]): TableColumn => ({
    heading,
    cell,
    sorted: order !== state.order ? undefined : LESS_FIRST.has(order) ? "ascending" : "descending",
    numeric: true,
  });
  // Of a study that reads whole texts there is none.
  const counted = trials.rows.some((row) => (row["context_kv_bytes"] ?? null) !== null);
  const columns: TableColumn[] = [
    { heading: "trial", cell: (row) => trialLink(row["trial_id"]) },
    { heading: "recipe", cell: (row) => recipeName(text(row["readable_id"] ?? row["methods"])) },
    { heading: "standing", cell: standingOf },
    sorted("accuracy", "accuracy", (row) => figure(row["accuracy"])),
    sorted("perplexity", "perplexity", (row) => figure(row["perplexity"])),
    sorted(
      "latency ×",
      "latency_ratio",
      ratio,
    ),
    sorted("size", "size_bytes", (row) => size(row["size_bytes"])),
    ...(counted
      ? [
        sorted("KV cache of a context", "context_kv_bytes", (row) => size(row["context_kv_bytes"])),
      ]
      : []),
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
    ...(counted ? ["context_kv_bytes"] : []),
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
          { heading: "at", cell: (row) => text(row["phase"]) },
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

function drawn(study: Row, id: string): Markup {
  const figures = study["reads_contexts"] === true ? [...CACHE_FIGURES, ...FIGURES] : FIGURES;
  return html`
    <section
      aria-labelledby="figures"><h2 id="figures">Figures</h2>${figures.map(([name, caption]) =>
        html`
          <details data-figure="${path("api", "studies", id, "figures", name)}">
            <summary>${caption}</summary>
          </details>
        `
      )}<noscript><p>The figures: ${figures.map(([name, caption]) =>
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

/** What is said of a study of trials alone. */
function ofTrials(study: Row): (readonly [string, Markup | string])[] {
  return [
    ["recommended", recommendedLink(study)],
    ["trials", `${text(study["trials"])}, ${text(study["completed"])} complete`],
    ["runtime", text(study["runtime"])],
    ["allowed drop", text(study["max_accuracy_drop"])],
  ];
}

function head(study: Row, own: string | null): Markup {
  const stop = endedBy(study["stop"] as string | null);
  const state = stop === null
    ? STATES[text(study["state"])] ?? text(study["state"])
    : `ended by ${stop}`;
  return facts([
    ["state", state],
    ["kind", text(study["kind"])],
    ["model", text(study["model_name"])],
    ["dataset", text(study["dataset"])],
    ...own === null ? ofTrials(study) : [],
    ["machine", `${text(study["device_name"])}, ${text(study["cores"])} cores`],
    ["seed", text(study["seed"])],
    ["opened", moment(study["opened_at"])],
  ]);
}

/** A row of the table scored_again. */
function scoringOf(row: Row): ScoringNote {
  const { beside_because } = row;
  return {
    ...{ task: text(row["task"]), scorer: text(row["scorer"]), at: text(row["at"]) },
    scorer_version: text(row["scorer_version"]),
    beside_because: typeof beside_because === "string" ? beside_because : null,
  };
}

/** Whether its kind of run decides anything by its figures. */
function decides(study: Row): boolean {
  return KINDS.find(({ name }) => name === study["kind"])?.needs.front ?? true;
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
      <div data-live="head">${head(study, state.own)}
      ${study["message"] === null ? "" : html`<p>${text(study["message"])}</p>`}
      ${scoringNotes(listOf(study["scored_again"]).map(scoringOf), decides(study)).map((note) =>
        html`<p>${note}</p>`
      )}
      ${listOf(study["judged"]).map((note) => html`<p>${text(note)}</p>`)}
      ${study["stale"] === null ? "" : html`<p class="refusal">${text(study["stale"])}</p>`}</div>
      <section aria-labelledby="events">
        <h2 id="events">Events</h2>
        <ol class="events" data-events="${api}/events" data-state="${text(study["state"])}"
          aria-label="Events as they are recorded"></ol>
      </section>
      ${state.own === null
        ? html`
          ${front(study, onFront)}
          <div data-live="trials">${trialList(id, trials, state)}</div>
          <div data-live="ended">${failures(study)}${alerts(study)}</div>
          ${drawn(study, id)}
        `
        : html`
          <div data-live="own">${raw(state.own)}</div>
        `}
      ${noteForm(`${api}/notes`, listOf(study["notes"]), Number(study["notes_kept"] ?? 0))}
      <section aria-labelledby="again">
        <h2 id="again">Run it again</h2>
        <pre tabindex="0"><code>${text(study["command"])}</code></pre>
      </section>
    `,
  });
}

/** A study of the queue that has recorded nothing yet. */
export function submittedPage(job: BoardJob): Markup {
  const { study_id, job_id, priority, place, said } = job;
  const stands = `${job_id}, ${jobStands(job)}` +
    (place > 0 ? `, place ${place} of ${priority} in line` : "");
  return layout({
    title: study_id,
    at: "queue",
    body: html`
      <h1>${study_id}</h1>
      <div data-live="head" data-again="2000">
        <p>${stands}</p>
        <pre tabindex="0"><code>${said.join("\n")}</code></pre>
      </div>
    `,
  });
}
