/**
 * Brings the front of a page to life: hover, selection, axes, and weights that choose among its trials. A
 * report is whole without it. A page inlines it with what it imports, see `pageScript`; the board serves it.
 *
 * What a page gives:
 * - `<script type="application/json" id="pare-front">`: `{ trials, weigh }`, see `FrontData` of
 *   ../front_data.ts. Without it nothing is done.
 * - Figures: an `<svg>` below an element with `data-pare-figure`, whose points have a `<title>` that
 *   begins with the trial's id on a line of its own (figures/pareto.ts draws so). With `data-pare-source`
 *   the figure is asked for at that address, as wide as its place and by the axes that its form's fields
 *   choose; they stand in the page's own address, so that a link shows the same.
 * - `<tr data-trial="ID">`: a row of a trial in any table; it is lit with its points.
 * - `<form data-pare-weights hidden>` with an `<input type="range" name="accuracy">` a weight, an
 *   `<output name="accuracy">` beside each and a `[data-pare-choice]` that says what they choose: by the
 *   rule of weights.js, or with `data-pare-weigh` by the answer of that address.
 * - `<div data-pare-selection hidden>`: says what is known of the trial that is selected.
 * - `<table data-pare-sortable>`: see sort.js.
 *
 * What it tells: the event `pare-select` on the document, with `detail.trial_id`, null for none. A page
 * whose content changes tells `refreshed`; what is there already is not bound twice.
 */
import { bindFigures } from "./axes.js";
import { bindPoints, mark, now, pointsOf } from "./points.js";
import { bringTables } from "./sort.js";
import { bindWeights } from "./weights.js";

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
  const { trials, weigh } = JSON.parse(told.textContent);
  const points = pointsOf(root);
  Object.assign(now, { trials: new Map(trials.map((one) => [one.trial_id, one])), weigh, points });
  bindPoints();
  bindFigures(() => bring(root));
  mark(now.chosen === null ? [] : [now.chosen], "pare-chosen");
  for (const form of root.querySelectorAll("form[data-pare-weights]")) bindWeights(form);
}

if (typeof document !== "undefined") {
  bindFolds(document);
  bring(document);
}
