/** The points of the figures of a front: which trial each is, what is lit, and what is said of it. */

const SVG = "http://www.w3.org/2000/svg";
/** More trials than these are no stops of the tab key: the table has them all. */
const MOST_STOPS = 60;
const MOST_LISTED = 50;

/** What the page tells, where its points are, and which trials are marked. */
export const now = {
  trials: new Map(),
  weigh: null,
  points: new Map(),
  selected: null,
  chosen: null,
};

/** Points of the figures by trial id. */
export function pointsOf(root) {
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
  mark.closest("g").append(ring);
}

export function mark(ids, name) {
  document.querySelectorAll(`.${name}`).forEach((ring) => ring.remove());
  for (const one of ids.flatMap((id) => now.points.get(id) ?? [])) ringAround(one, name);
}

function lightRows(ids, name) {
  for (const row of document.querySelectorAll("tr[data-trial]")) {
    row.classList.toggle(name, ids.includes(row.getAttribute("data-trial")));
  }
}

/** A trial in a line, as it is read out. */
const wordsOf = ({ name, recipe, figures }) =>
  [`${name}: ${recipe}`, ...figures.map(([term, value]) => `${term} ${value}`.trim())].join(", ");

/** An element of text: nothing of it is taken for markup. */
export function said(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

/** What is known of a trial, or a line each of several. */
function tell(ids) {
  const panel = document.querySelector("[data-pare-selection]");
  if (panel === null) return;
  const trials = ids.flatMap((id) => now.trials.get(id) ?? []);
  panel.hidden = trials.length === 0;
  const list = document.createElement(trials.length > 1 ? "ul" : "dl");
  if (trials.length > 1) {
    list.append(...trials.slice(0, MOST_LISTED).map((one) => said("li", wordsOf(one))));
    return panel.replaceChildren(said("strong", `${trials.length} selected`), list);
  }
  const [trial] = trials;
  if (trial === undefined) return panel.replaceChildren();
  for (const [term, value] of trial.figures) {
    const pair = document.createElement("div");
    pair.append(said("dt", term), said("dd", value));
    list.append(pair);
  }
  panel.replaceChildren(said("strong", `${trial.name}: ${trial.recipe}`), list);
}

export function show(ids) {
  mark(ids, "pare-selected");
  lightRows(ids, "pare-lit");
  tell(ids);
}

export const showSelected = () => show(now.selected === null ? [] : [now.selected]);

function select(id) {
  now.selected = now.selected === id ? null : id;
  showSelected();
  document.dispatchEvent(new CustomEvent("pare-select", { detail: { trial_id: now.selected } }));
}

/** What a point or a row does; of one with a page of its own a click leads there. */
function bindPointer(element, id, leads) {
  if (element.hasAttribute("data-bound")) return;
  element.setAttribute("data-bound", "");
  element.addEventListener("pointerenter", () => show([id]));
  element.addEventListener("pointerleave", showSelected);
  if (!leads) element.addEventListener("click", () => select(id));
}

/** One stop of the keyboard for a trial and a figure, whatever is shown. */
function bindKeys(stop, id, leads) {
  stop.addEventListener("focus", () => show([id]));
  stop.addEventListener("blur", showSelected);
  if (leads) return;
  stop.setAttribute("tabindex", "0");
  stop.setAttribute("role", "button");
  stop.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(id);
    } else if (event.key === "Escape" && now.selected !== null) select(now.selected);
  });
}

/** The point as a link to its trial's page. */
function linked(mark, trial, stops) {
  const link = document.createElementNS(SVG, "a");
  link.setAttribute("href", trial.href);
  link.setAttribute("aria-label", wordsOf(trial));
  if (!stops) link.setAttribute("tabindex", "-1");
  mark.replaceWith(link);
  link.append(mark);
  return link;
}

export function bindPoints() {
  // What an image holds, no keyboard reaches.
  for (const svg of document.querySelectorAll("[data-pare-figure] svg[role=img]")) {
    svg.setAttribute("role", "group");
  }
  for (const [id, list] of now.points) {
    const trial = now.trials.get(id);
    const leads = trial?.href !== undefined;
    const seen = new Set();
    for (const one of list) {
      if (one.hasAttribute("data-bound")) continue;
      bindPointer(one, id, leads);
      const figure = one.closest(".wide, .narrow, [data-pare-figure]");
      const first = !seen.has(figure);
      seen.add(figure);
      const stop = leads ? linked(one, trial, first && now.points.size <= MOST_STOPS) : one;
      if (first) bindKeys(stop, id, leads);
    }
  }
  for (const row of document.querySelectorAll("tr[data-trial]")) {
    bindPointer(row, row.getAttribute("data-trial"), false);
  }
}
