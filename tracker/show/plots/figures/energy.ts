import { counted, number } from "../../view/number_text.ts";
import { signsOf } from "../ground/colours.ts";
import { barPanel, fewest } from "../ground/bars.ts";
import { drawFigure } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";

const COLUMNS = {
  figure: "energy",
  sql: "SELECT * FROM leaderboard_wide",
  required: { trial_id: text, energy_j_per_1k_tokens: numeric },
  optional: { energy_reader: text, co2_g_per_1k_tokens: numeric },
};

/** Joules for 1,000 generated tokens, by how they were read. Rows: `SELECT * FROM leaderboard_wide`. */
export function energy(rows: readonly object[], options?: FigureOptions): string {
  const settled = readOptions("energy", FigureOptions, options);
  const all = readRows(rows, COLUMNS);
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const read = all.flatMap((row) => {
    const joules = row.energy_j_per_1k_tokens;
    if (joules === null) return [];
    const reader = row.energy_reader ?? "not said";
    return [{ row: name(row.trial_id), joules, reader, co2: row.co2_g_per_1k_tokens }];
  }).toSorted((a, b) => a.row < b.row ? -1 : 1);
  const { shown, notes } = fewest(read, "trials");
  const signs = signsOf(read.map(({ reader }) => reader));
  const bars = shown.map(({ row, joules, reader }) => ({
    ...{ row, from: 0, to: joules, fill: signs.get(reader)!.colour },
    title: `${row}: ${number(joules)} J for 1,000 tokens (${reader})`,
  }));
  const several = signs.size > 1;
  const labels = shown.map(({ row, joules, reader, co2 }) => ({
    ...{ row, at: joules },
    text: `${number(joules)} J${co2 === null ? "" : `, ${number(co2)} g CO2`}` +
      `${several ? `, ${reader}` : ""}`,
  }));
  const least = read.toSorted((a, b) => a.joules - b.joules)[0];
  return drawFigure({
    title: "Energy for 1,000 generated tokens",
    subtitle: [...signs.keys()].map((reader) => `read by: ${reader}`).join("; "),
    description: least === undefined
      ? "Nothing is drawn: no row has energy_j_per_1k_tokens. It is measured while a runtime generates; " +
        "SELECT * FROM leaderboard_wide gives it."
      : `${counted(read.length, "trial")}; the least is ${least.row} with ${
        number(least.joules)
      } J.`,
    notes: [
      ...notes,
      ...several ? ["Figures that were read in different ways are not comparable."] : [],
      ...signs.has("estimate") ? ["estimate: of processor time and a mean power, no counter."] : [],
    ],
    panels: read.length === 0
      ? []
      : [barPanel(shown.map(({ row }) => row), bars, labels, "← better: joules for 1,000 tokens")],
  }, settled);
}
