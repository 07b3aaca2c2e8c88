/**
 * Brings the front of a page to life: hover, selection, and weights that choose among its trials. The
 * page is whole without it. A page inlines it with what it imports, see `pageScript`.
 *
 * What a page gives:
 * - `<script type="application/json" id="pare-front">`: `{ trials, weigh }`, see `FrontData` of
 *   ../front_data.ts. Without it nothing is done.
 * - Figures: an `<svg>` below an element with `data-pare-figure`, whose points have a `<title>` that
 *   begins with the trial's id on a line of its own (figures/pareto.ts draws so).
 * - `<tr data-trial="ID">`: a row of a trial in any table; it is lit with its points.
 * - `<form data-pare-weights hidden>` with an `<input type="range" name="accuracy">` a weight, an
 *   `<output name="accuracy">` beside each and a `[data-pare-choice]` that says what they choose.
 * - `<div data-pare-selection hidden>`: says what is known of the trial that is selected.
 * - `<table data-pare-sortable>`: see sort.js.
 *
 * What it tells: the event `pare-select` on the document, with `detail.trial_id`, null for none. A page
 * whose content changes calls `bring(document)` again; what is there already is not bound twice.
 */

import { bringTables } from "./sort.js";

/**
 * The trial that weights choose, by the rule of `recommend()` of core: the best reward above the
 * baseline's, trials that meet every constraint for sure before the others. Null: keep the original.
 * @param {import("../../../../core/mod.ts").Weighable} weigh
 * @param {Record<string, number>} given weights by name, at least one above 0
 * @returns {import("../../../../core/mod.ts").WeighableTrial | null}
 */
export function chosenBy(weigh, given) {
  const least = rewardBy(weigh.baseline, given);
  const better = weigh.candidates.map((trial) => ({ trial, reward: rewardBy(trial, given) }))
    .filter(({ reward }) => reward > least)
    .sort((a, b) =>
      Number(b.trial.decided) - Number(a.trial.decided) || b.reward - a.reward ||
      a.trial.number - b.trial.number
    );
  return better.length === 0 ? null : better[0].trial;
}

/** Accuracy gains, every other term costs; the weights, whichever are given, are scaled to sum to 1. */
export function rewardBy({ terms, penalty }, given) {
  const weights = Object.entries(given);
  const sum = weights.reduce((total, [, weight]) => total + weight, 0);
  if (!(sum > 0)) return NaN;
  const gained = weights.reduce((total, [name, weight]) => {
    const value = terms[name] ?? 0; // one that was not measured is left out
    return total + (name === "accuracy" ? 1 : -1) * (weight / sum) * value;
  }, 0);
  return gained - penalty;
}

const SVG = "http://www.w3.org/2000/svg";

/** Points of the figures by trial id. */
function pointsOf(root) {
  const points = new Map();
  for (const title of root.querySelectorAll("[data-pare-figure] svg title")) {
    const [id] = title.textContent.split("\n");
    const mark = title.parentNode;
    if (mark.localName === "svg") continue;
    points.set(id, [...points.get(id) ?? [], mark]);
  }
  return points;
}

/** A ring around a point, in the point's own panel. */
function ringAround(mark, name) {
  const ring = mark.ownerDocument.createElementNS(SVG, "circle");
  // A circle has its place, any other shape lies around the origin of its own transform.
  const [cx, cy] = ["cx", "cy"].map((name) => mark.getAttribute(name) ?? "0");
  const at = { cx, cy, r: 14 };
  for (const [key, value] of Object.entries(at)) ring.setAttribute(key, String(value));
  const moved = mark.getAttribute("transform");
  if (moved !== null) ring.setAttribute("transform", moved);
  ring.setAttribute("class", name);
  mark.parentNode.append(ring);
}

function mark(points, id, name) {
  for (const list of points.values()) {
    for (const one of list) {
      one.parentNode.querySelectorAll(`.${name}`).forEach((ring) => ring.remove());
    }
  }
  for (const one of points.get(id) ?? []) ringAround(one, name);
}

function lightRows(root, id, name) {
  for (const row of root.querySelectorAll("tr[data-trial]")) {
    row.classList.toggle(name, row.getAttribute("data-trial") === id);
  }
}

/** What is known of a trial, as text: nothing of it is taken for markup. */
function tell(panel, trial) {
  panel.hidden = trial === undefined;
  panel.replaceChildren();
  if (trial === undefined) return;
  const page = panel.ownerDocument;
  const head = page.createElement("strong");
  head.textContent = `${trial.name}: ${trial.recipe}`;
  const list = page.createElement("dl");
  for (const [term, value] of trial.figures) {
    const pair = page.createElement("div");
    const [dt, dd] = [page.createElement("dt"), page.createElement("dd")];
    [dt.textContent, dd.textContent] = [term, value];
    pair.append(dt, dd);
    list.append(pair);
  }
  panel.append(head, list);
}

function bindPoints(root, data, points) {
  // What an image holds, no keyboard reaches.
  for (const svg of root.querySelectorAll("[data-pare-figure] svg[role=img]")) {
    svg.setAttribute("role", "group");
  }
  const trials = new Map(data.trials.map((one) => [one.trial_id, one]));
  const panel = root.querySelector("[data-pare-selection]");
  let selected = null;
  const show = (id) => {
    mark(points, id, "pare-selected");
    lightRows(root, id, "pare-lit");
    if (panel !== null) tell(panel, trials.get(id));
  };
  const select = (id) => {
    selected = selected === id ? null : id;
    show(selected);
    root.dispatchEvent(new CustomEvent("pare-select", { detail: { trial_id: selected } }));
  };
  const bind = (element, id) => {
    if (element.hasAttribute("data-bound")) return;
    element.setAttribute("data-bound", "");
    element.addEventListener("pointerenter", () => show(id));
    element.addEventListener("pointerleave", () => show(selected));
    element.addEventListener("click", () => select(id));
  };
  for (const [id, list] of points) {
    const seen = new Set();
    list.forEach((one) => {
      bind(one, id);
      const figure = one.closest(".wide, .narrow, [data-pare-figure]");
      if (seen.has(figure)) return; // one stop of the keyboard for a trial, whatever is shown
      seen.add(figure);
      one.setAttribute("tabindex", "0");
      one.setAttribute("role", "button");
      one.addEventListener("focus", () => show(id));
      one.addEventListener("blur", () => show(selected));
      one.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          select(id);
        } else if (event.key === "Escape" && selected !== null) select(selected);
      });
    });
  }
  for (const row of root.querySelectorAll("tr[data-trial]")) {
    bind(row, row.getAttribute("data-trial"));
  }
}

function bindWeights(root, { weigh, trials }, points) {
  const form = root.querySelector("form[data-pare-weights]");
  if (form === null || !weigh || form.hasAttribute("data-bound")) return;
  form.setAttribute("data-bound", "");
  const inputs = [...form.querySelectorAll("input[type=range]")];
  const nameOf = ({ trial_id }) => trials.find((one) => one.trial_id === trial_id);
  const choose = () => {
    const given = Object.fromEntries(inputs.map(({ name, value }) => [name, Number(value)]));
    const sum = Object.values(given).reduce((total, one) => total + one, 0);
    for (const { name } of inputs) {
      const share = sum > 0 ? given[name] / sum : 0;
      form.querySelector(`output[name=${name}]`).textContent = `${Math.round(100 * share)} %`;
    }
    const words = form.querySelector("[data-pare-choice]");
    const trial = sum > 0 ? chosenBy(weigh, given) : null;
    const known = trial === null ? undefined : nameOf(trial);
    words.textContent = sum > 0
      ? known === undefined
        ? "These weights choose no trial: keep the original."
        : `These weights choose ${known.name}, ${known.recipe}.`
      : "At least one weight must be above 0.";
    mark(points, trial?.trial_id, "pare-chosen");
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", choose);
  form.addEventListener("reset", () => setTimeout(choose));
  choose();
}

/** Tables of the page that a link leads into, or that are printed, are unfolded. */
function bindFolds(root) {
  const open = (target) => {
    for (let one = target; one !== null; one = one.parentElement) {
      if (one.localName === "details") one.open = true;
    }
  };
  const follow = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name === "" ? null : root.getElementById(name);
    if (target !== null) open(target);
  };
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => root.querySelectorAll("details").forEach(open));
  follow();
}

/** Binds what a page has and is not bound yet. */
export function bring(root) {
  bringTables(root);
  const told = root.getElementById("pare-front");
  if (told === null) return;
  const data = JSON.parse(told.textContent);
  const points = pointsOf(root);
  bindPoints(root, data, points);
  bindWeights(root, data, points);
}

if (typeof document !== "undefined") {
  bindFolds(document);
  bring(document);
}
