import { html, raw } from "hono/html";
import { metricWords, recipeName, WEIGHTS } from "../../../core/mod.ts";
import type { FrontData } from "../../show/pages/front_data.ts";
import { selectionPlace, weightsForm } from "../../show/pages/front_html.ts";
import { dataElement } from "../../show/pages/page.ts";
import { standing } from "../../show/view/trial_rows.ts";
import { FRONT_COSTS, FRONT_QUALITIES } from "../resources/figures.ts";
import type { Row } from "../resources/studies.ts";
import type { Markup } from "./layout.ts";
import { figure, interval, path, shortName, size, text, trialPath } from "./parts.ts";

/** What became of a trial of a row of SQL, in the words of every table. */
export function standingOf(row: Row): string {
  const some = (value: unknown) => value === true || (Array.isArray(value) && value.length > 0);
  const trial_id = text(row["trial_id"]);
  return standing({
    ...{ trial_id, baseline: row["number"] === 0, state: text(row["state"]) },
    fidelity: typeof row["fidelity"] === "string" ? row["fidelity"] : null,
    on_front: row["on_front"] === true,
    ...{ violated: some(row["violated"]), undecided: some(row["undecided"]) },
  }, row["recommended"] === true ? trial_id : null);
}

/** Its time over the baseline's, with the interval. */
export const ratio = (row: Row) =>
  interval(row["latency_ratio"], row["latency_ratio_low"], row["latency_ratio_high"]);

/** Offered for weighing also where the study weighs them not at all. */
const ALWAYS_WEIGHED: ReadonlySet<string> = new Set([
  "accuracy",
  "latency",
  "size",
  "memory",
  "energy",
]);

function weights(study: Row): Markup {
  const of = (name: string) => Number(Number(study[`weight_${name}`] ?? 0).toPrecision(3));
  const names = WEIGHTS.filter((name) => ALWAYS_WEIGHED.has(name) || of(name) > 0);
  const address = path("api", "studies", text(study["study_id"]), "weigh");
  const given = Object.fromEntries(names.map((name) => [name, of(name)]));
  const words = "Which trial others would pick: the dashed ring is what these weights choose.";
  return raw(weightsForm(given, words, `data-pare-weigh="${address}"`));
}

/** What the script of the front is told, in the page itself: fetched behind it, it would be there later. */
function frontData(rows: readonly Row[]): FrontData {
  return {
    trials: rows.map((row) => ({
      trial_id: text(row["trial_id"]),
      name: shortName(text(row["trial_id"])),
      recipe: recipeName(text(row["readable_id"] ?? row["methods"])),
      href: trialPath(text(row["trial_id"])),
      figures: ([
        ["", standingOf(row)],
        ["accuracy", figure(row["accuracy"])],
        ["perplexity", figure(row["perplexity"])],
        ["latency ×", ratio(row)],
        ["size", size(row["size_bytes"])],
        ["memory", size(row["memory_bytes"])],
        ["KV cache of a context", size(row["context_kv_bytes"])],
        ["P(front)", figure(row["front_probability"], 2)],
      ] as const).filter(([, told]) => told !== "–"),
    })),
    weigh: null,
  };
}

const MOST_PAIRED_AT_ONCE = 1000;

/** The axes that may be chosen: those that some trial has a figure for. */
function axes(rows: readonly Row[]): Markup {
  const has = (name: string) => rows.some((row) => typeof row[name] === "number");
  const options = (names: readonly string[]) =>
    names.filter(has).map((name) => html`<option value="${name}">${metricWords(name)}</option>`);
  // Pairing all samples of thousands takes a while: then it is asked for.
  const paired = Number(rows[0]?.["eligible"] ?? 0) > MOST_PAIRED_AT_ONCE ? "" : "checked";
  return html`<div class="line">
<label>Quality <select name="quality"><option value="">the objective</option>${
    options(FRONT_QUALITIES)
  }</select></label>
<label>Cost <select name="cost"><option value="">the objectives</option>${
    options(FRONT_COSTS)
  }</select></label>
<label><input type="checkbox" name="paired" ${paired}> less the baseline's, sample by sample</label></div>`;
}

/** The front as the report draws it; with the script its axes can be chosen, its points asked and brushed. */
export function front(study: Row, rows: readonly Row[]): Markup {
  const id = text(study["study_id"]);
  const source = path("api", "studies", id, "figures", "pareto");
  return html`<section aria-labelledby="front"><h2 id="front">Front</h2>
<figure data-pare-figure data-pare-source="${source}">${axes(rows)}
<div data-pare-drawn><noscript><img alt="The front of ${id}: quality against cost; the table below has its figures"
src="${source}?width=1130"></noscript></div>
<figcaption>Point at a trial to see its figures, drag over several to list them; each point is a link.</figcaption>
</figure>${raw(selectionPlace)}
<div data-live="front" hidden>${raw(dataElement("pare-front", frontData(rows)))}</div>${
    weights(study)
  }</section>`;
}
