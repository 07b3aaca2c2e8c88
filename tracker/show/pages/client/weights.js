/** Weights that a reader moves, and the trial that they choose. */
import { mark, now } from "./points.js";

/**
 * The trial that weights choose, by the rule of `recommend()` of core: the best reward above the
 * baseline's (or equal to it where that is dominated), those of less doubt before the others. Null: keep the original.
 * @param {import("../../../../core/mod.ts").Weighable} weigh
 * @param {Record<string, number>} given weights by name, at least one above 0
 * @returns {import("../../../../core/mod.ts").WeighableTrial | null}
 */
export function chosenBy(weigh, given) {
  const least = rewardBy(weigh.baseline, given) - (weigh.dominated ? 1e-12 : 0);
  const better = weigh.candidates.map((trial) => ({ trial, reward: rewardBy(trial, given) }))
    .filter(({ reward }) => reward > least)
    .sort((a, b) =>
      a.trial.doubt - b.trial.doubt || b.reward - a.reward ||
      a.trial.number - b.trial.number
    );
  return better.length === 0 ? null : better[0].trial;
}

/** Accuracy gains, every other term costs; the weights, whichever are given, are scaled to sum to 1. */
function rewardBy({ terms, penalty }, given) {
  const weights = Object.entries(given);
  const sum = weights.reduce((total, [, weight]) => total + weight, 0);
  if (!(sum > 0)) return NaN;
  const gained = weights.reduce((total, [name, weight]) => {
    const value = terms[name] ?? 0; // one that was not measured is left out
    return total + (name === "accuracy" ? 1 : -1) * (weight / sum) * value;
  }, 0);
  return gained - penalty;
}

/** What weights choose, in words, and the id of the trial; null: the original. */
function chosenHere(given) {
  const trial = chosenBy(now.weigh, given);
  return [trial?.trial_id ?? null, []];
}

/** As the board says it, which also has its reasons. */
async function chosenThere(address, given) {
  const weights = Object.entries(given).map(([name, value]) => `${name}=${value}`).join(",");
  const own = new URL(location.href);
  own.searchParams.set("weights", weights);
  history.replaceState(null, "", own);
  const answer = await fetch(`${address}?${new URLSearchParams({ weights })}`);
  const { recommendation, left_out, error } = await answer.json();
  if (!answer.ok) throw new Error(error);
  const { keep_original, trial_id, reasons } = recommendation;
  return [keep_original ? null : trial_id, [...reasons.slice(-1), ...left_out]];
}

/** Lets the weights of a form be moved, where something tells what they choose. */
export function bindWeights(form) {
  const there = form.dataset.pareWeigh;
  if (form.hasAttribute("data-bound") || (there === undefined && now.weigh === null)) return;
  form.setAttribute("data-bound", "");
  const inputs = [...form.querySelectorAll("input[type=range]")];
  const words = form.querySelector("[data-pare-choice]");
  const shares = () => {
    const given = Object.fromEntries(inputs.map(({ name, value }) => [name, Number(value)]));
    const sum = Object.values(given).reduce((total, one) => total + one, 0);
    for (const { name } of inputs) {
      const share = sum > 0 ? given[name] / sum : 0;
      form.querySelector(`output[name=${name}]`).textContent = `${Math.round(100 * share)} %`;
    }
    return sum > 0 ? given : null;
  };
  const choose = async () => {
    const given = shares();
    try {
      const [id, reasons] = given === null
        ? [null, []]
        : there === undefined
        ? chosenHere(given)
        : await chosenThere(there, given);
      const trial = now.trials.get(id);
      const chosen = given === null
        ? "At least one weight must be above 0."
        : id === null
        ? "These weights choose no trial: keep the original."
        : `These weights choose ${trial === undefined ? id : `${trial.name}, ${trial.recipe}`}.`;
      words.textContent = [chosen, ...reasons].join(" ");
      now.chosen = id;
      mark(id === null ? [] : [id], "pare-chosen");
    } catch (error) {
      words.textContent = error.message;
    }
  };
  let timer = null;
  const soon = () => {
    shares();
    clearTimeout(timer);
    timer = setTimeout(choose, there === undefined ? 0 : 150); // what moves asks not at every step
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", soon);
  form.addEventListener("reset", () => setTimeout(soon));
  const shared = new URLSearchParams(location.search).get("weights");
  for (const [name, value] of shared?.split(",").map((one) => one.split("=")) ?? []) {
    const input = inputs.find((one) => one.name === name);
    if (input !== undefined) input.value = value ?? "";
  }
  if (there === undefined || shared !== null) soon();
  else shares();
}
