import { escapeHtml } from "./client/table.js";

/** Where a page says what is known of the trial that is pointed at. */
export const selectionPlace = `<div data-pare-selection aria-live="polite" hidden></div>`;

/**
 * Weights that a reader moves, from 0 to 1, as the script finds them; `words` and `attributes` are markup,
 * such as where the board says what they choose.
 */
export function weightsForm(
  weights: Readonly<Partial<Record<string, number>>>,
  words: string,
  attributes = "",
): string {
  const rows = Object.entries(weights).map(([given, value]) => {
    const name = escapeHtml(given);
    return `<label>${given === "co2" ? "CO2" : name} <input type="range" name="${name}" min="0" ` +
      `max="1" step="0.01" value="${Number(value)}"><output name="${name}"></output></label>`;
  });
  return `<form class="choice" data-pare-weights ${attributes} autocomplete="off" hidden>` +
    `<p>${words}</p>${rows.join("\n")}<p data-pare-choice aria-live="polite"></p>` +
    `<button type="reset">the study's own weights</button></form>`;
}
