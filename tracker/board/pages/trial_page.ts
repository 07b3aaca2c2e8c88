import { html, raw } from "hono/html";
import {
  inLimitUnit,
  limitUnit,
  limitWords,
  metricWords,
  precisionWords,
  recipeName,
} from "../../../core/mod.ts";
import { type Spark, sparkline, sparkWords } from "../../show/pages/sparkline.ts";
import type { Row } from "../resources/studies.ts";
import type { Page } from "../resources/trials.ts";
import { layout, type Markup } from "./layout.ts";
import {
  difference,
  facts,
  figure,
  interval,
  listOf,
  noteForm,
  pager,
  path,
  seconds,
  shortName,
  size,
  studyPath,
  table,
  text,
  trialPath,
} from "./parts.ts";

/** Which samples a page of a trial shows. */
export interface SamplesState {
  readonly which: "won" | "lost" | "changed";
  readonly task: string;
}

function recipe(trial: Row): Markup {
  const actions = listOf(trial["actions"]);
  if (actions.length === 0) {
    return html`<p>${
      trial["number"] === 0 ? "The original, unchanged." : "No action was begun."
    }</p>`;
  }
  return html`<ol class="recipe">${
    actions.map((action) =>
      html`<li><h3>${text(action["agent"])}/${text(action["method"])}</h3>${
        table(`Knobs of ${text(action["method"])}`, [
          { heading: "knob", cell: (row) => text(row["knob"]) },
          { heading: "value", cell: (row) => text(row["value"]) },
          { heading: "asked for", cell: (row) => text(row["requested"]) },
          { heading: "by", cell: (row) => text(row["resolved_by"]) },
          { heading: "why", cell: (row) => text(row["reason"]) },
        ], listOf(action["knobs"]))
      }</li>`
    )
  }</ol>`;
}

function paired(trial: Row): Markup | string {
  const rows = listOf(trial["differences"]);
  if (rows.length === 0) return "";
  return table("Against the baseline, sample by sample", [
    { heading: "task", cell: (row) => row["task"] === null ? "all tasks" : text(row["task"]) },
    { heading: "metric", cell: (row) => metricWords(text(row["metric"])) },
    {
      heading: "difference [95 %]",
      cell: (row) => difference(row["metric"], row["difference"], row["low"], row["high"]),
      numeric: true,
    },
    { heading: "won", cell: (row) => text(row["wins"]), numeric: true },
    { heading: "lost", cell: (row) => text(row["losses"]), numeric: true },
    { heading: "n", cell: (row) => text(row["n"]), numeric: true },
  ], rows);
}

/** Samples on which two trials differ, a page of them. */
export function sampleTable(
  samples: Page,
  state: SamplesState,
  address: (more: Record<string, string>) => string,
): Markup {
  const kinds = (["changed", "won", "lost"] as const).map((which) =>
    which === state.which
      ? html`
        <a aria-current="true" href="${address({ which })}">${which}</a>
      `
      : html`
        <a href="${address({ which })}">${which}</a>
      `
  );
  return html`<p class="kinds">Show: ${kinds}</p>${
    table(`Samples ${state.which}`, [
      { heading: "task", cell: (row) => text(row["task"]) },
      { heading: "sample", cell: (row) => text(row["sample_id"]) },
      {
        heading: "prompt",
        cell: (row) =>
          row["prompt"] === null ? "not on this machine" : html`
            <details>
              <summary>${text(row["prompt"]).slice(0, 80)}…</summary>
              <pre tabindex="0">${text(row["prompt"])}</pre>
            </details>
          `,
      },
      { heading: "right answer", cell: (row) => text(row["gold"]) },
      { heading: "reference", cell: (row) => text(row["reference_answer"]) },
      { heading: "this", cell: (row) => text(row["other_answer"]) },
      {
        heading: "difference",
        cell: (row) => difference(row["metric"], row["difference"], null, null),
        numeric: true,
      },
    ], samples.rows)
  }${pager(samples, (page) => address({ ...state, page: String(page) }))}`;
}

function measured(trial: Row): Markup {
  return table("Figures", [
    { heading: "metric", cell: (row) => metricWords(text(row["metric"])) },
    {
      heading: "value",
      cell: (row) => row["unit"] === "bytes" ? size(row["value"]) : figure(row["value"], 4),
      numeric: true,
    },
    { heading: "unit", cell: (row) => row["unit"] === "bytes" ? "" : text(row["unit"]) },
    { heading: "SE", cell: (row) => figure(row["standard_error"]), numeric: true },
    { heading: "n", cell: (row) => text(row["n"]), numeric: true },
    { heading: "rung", cell: (row) => text(row["fidelity"]) },
    {
      heading: "how",
      cell: (row) =>
        `${text(row["provenance"])}${row["runtime"] === null ? "" : `, ${text(row["runtime"])}`}`,
    },
  ], listOf(trial["measurements"]));
}

/** Its time per token in each runtime that timed it, both sides of the ratio named. */
function runsIn(trial: Row): Markup {
  const rows = listOf(trial["timings"]);
  const precision = (value: unknown) => typeof value === "string" ? precisionWords(value) : "–";
  return rows.length === 0 ? html`` : table("Speed by runtime", [
    { heading: "runtime", cell: (row) => text(row["runtime"]) },
    { heading: "precision", cell: (row) => precision(row["inference_precision"]) },
    { heading: "KV", cell: (row) => precision(row["kv_precision"]) },
    { heading: "inputs rounded by", cell: (row) => text(row["activation_group"]), numeric: true },
    { heading: "threads", cell: (row) => text(row["threads"]), numeric: true },
    { heading: "ms/token", cell: (row) => figure(row["latency_ms"]), numeric: true },
    { heading: "× original", cell: (row) => figure(row["latency_ratio"]), numeric: true },
    { heading: "original in", cell: (row) => precision(row["baseline_precision"]) },
  ], rows);
}

function lineage(trial: Row): Markup {
  return table("Artifacts, from the original on", [
    { heading: "artifact", cell: (row) => html`<code>${text(row["artifact_id"])}</code>` },
    { heading: "recipe", cell: (row) => text(row["recipe"]) },
    { heading: "made from", cell: (row) => html`<code>${text(row["parent_id"])}</code>` },
    { heading: "size", cell: (row) => size(row["size_bytes"]), numeric: true },
    { heading: "least cosine", cell: (row) => figure(row["minimum_cosine"], 4), numeric: true },
    { heading: "folder", cell: (row) => html`<code>${text(row["location"])}</code>` },
  ], listOf(trial["artifacts"]));
}

function verdicts(trial: Row): Markup {
  const limit = (row: Row, field: string) =>
    typeof row[field] === "number"
      ? figure(inLimitUnit(text(row["constraint_name"]), row[field]))
      : "–";
  return html`${
    table("Limits", [
      {
        heading: "limit",
        cell: (row) =>
          limitWords(text(row["constraint_name"])) + limitUnit(text(row["constraint_name"])),
      },
      { heading: "verdict", cell: (row) => text(row["verdict"]) },
      { heading: "value", cell: (row) => limit(row, "value"), numeric: true },
      { heading: "threshold", cell: (row) => limit(row, "threshold"), numeric: true },
    ], listOf(trial["verdicts"]))
  }${
    table("Gates", [
      { heading: "gate", cell: (row) => text(row["gate"]) },
      { heading: "decision", cell: (row) => text(row["decision"]) },
      { heading: "why", cell: (row) => text(row["reason"]) },
    ], listOf(trial["gates"]))
  }`;
}

function ended(trial: Row): Markup | string {
  if (typeof trial["failure_message"] !== "string") return "";
  return html`<p class="refusal">${trial["failure_message"]}${
    typeof trial["failure_hint"] === "string"
      ? html`
        <em>${trial["failure_hint"]}</em>
      `
      : ""
  }</p>`;
}

/** What its trainings logged as they went: a line of pixels, and the same in words. */
function trained(curves: readonly Row[]): Markup | string {
  if (curves.length === 0) return "";
  const spark = (row: Row): Spark => ({
    name: text(row["metric"]),
    points: listOf(row["points"]) as unknown as Spark["points"], // steps and values
    ...{ count: Number(row["count"]), least: Number(row["least"]) },
    ...{ first_step: Number(row["first_step"]), first: Number(row["first"]) },
    ...{ last_step: Number(row["last_step"]), last: Number(row["last"]) },
  });
  return html`<section aria-labelledby="training"><h2 id="training">Training</h2>${
    table("What the training logged", [
      { heading: "action", cell: (row) => text(row["action_index"]), numeric: true },
      { heading: "metric", cell: (row) => text(row["metric"]) },
      { heading: "over its steps", cell: (row) => html`${raw(sparkline(spark(row)))}` },
      { heading: "in words", cell: (row) => sparkWords(spark(row)) },
    ], curves)
  }</section>`;
}

/** One trial: what was done, what it came to, what it won and lost, where its files are. */
export function trialPage(
  trial: Row,
  samples: Page | null,
  state: SamplesState,
  curves: readonly Row[],
): Markup {
  const [id, study_id] = [text(trial["trial_id"]), text(trial["study_id"])];
  const own = trialPath(id, study_id);
  const address = (more: Record<string, string>) =>
    `${own}?${new URLSearchParams({ ...state, ...more })}#samples`;
  const baseline = trial["baseline"];
  const beside = typeof baseline === "string" && baseline !== id
    ? html`<p><a href="/compare?${new URLSearchParams({ first: baseline, second: id })}">Beside
the baseline</a></p>`
    : "";
  return layout({
    title: id,
    at: "studies",
    body: html`<p class="crumb"><a href="${studyPath(study_id)}">${study_id}</a></p>
<h1>${shortName(id)} ${recipeName(text(trial["readable_id"] ?? trial["methods"]))}</h1>
${ended(trial)}${
      facts([
        ["state", text(trial["state"])],
        ["rung", text(trial["fidelity"])],
        ["accuracy", figure(trial["accuracy"])],
        [
          "latency ×",
          interval(trial["latency_ratio"], trial["latency_ratio_low"], trial["latency_ratio_high"]),
        ],
        ["size", size(trial["size_bytes"])],
        ["reward", figure(trial["compared_reward"] ?? trial["reward"])],
        ["took", seconds(trial["seconds"])],
        ["proposed by", `${text(trial["sampler"])}: ${text(trial["reason"])}`],
      ])
    }${beside}
<section aria-labelledby="recipe"><h2 id="recipe">Recipe</h2>${recipe(trial)}</section>
${trained(curves)}
<section aria-labelledby="quality"><h2 id="quality">Against the baseline</h2>${
      paired(trial)
    }</section>
${
      samples === null
        ? ""
        : html`<section aria-labelledby="samples"><h2 id="samples">Samples won and lost</h2>
${sampleTable(samples, state, address)}</section>`
    }
<section aria-labelledby="measured"><h2 id="measured">Figures</h2>${measured(trial)}${
      runsIn(trial)
    }</section>
<section aria-labelledby="verdicts"><h2 id="verdicts">Limits and gates</h2>${
      verdicts(trial)
    }</section>
<section aria-labelledby="files"><h2 id="files">Artifacts and lineage</h2>${
      lineage(trial)
    }</section>
${
      noteForm(
        path("api", "studies", study_id, "trials", shortName(id), "notes"),
        listOf(trial["notes"]),
      )
    }`,
  });
}
