import * as Plot from "@observablehq/plot";
import type { ServingPlan } from "../../../core/serving/plan/schema.ts";
import { type Bar, barPanel, fewest } from "../plots/ground/bars.ts";
import { INK, PAPER, QUIET, RULE, signsOf } from "../plots/ground/colours.ts";
import { drawFigure } from "../plots/ground/frame.ts";
import { FigureOptions, readOptions } from "../plots/ground/options.ts";
import { counted } from "../view/number_text.ts";
import { type MemoryRow, memoryRows } from "./memory_rows.ts";

const GIB = 1024 ** 3;
/** Parts that nothing is in. */
const EMPTY: Readonly<Record<string, string>> = { free: RULE, "left out": QUIET };
/** Below this share of the widest bar a stretch has no room for its number. */
const NUMBERED = .04;

interface Stretch extends Bar {
  readonly middle: number;
  readonly number: string;
}

function stretches(rows: readonly MemoryRow[], shown: readonly string[], names: readonly string[]) {
  const signs = signsOf(names);
  const bars: Stretch[] = [];
  const labels = shown.map((row) => {
    let at = 0;
    let held = 0;
    for (const { part, bytes } of rows.filter(({ plan }) => plan === row)) {
      const size = bytes / GIB;
      const empty = EMPTY[part];
      bars.push({
        ...{ row, from: at, to: at + size, middle: at + size / 2 },
        number: empty === undefined ? String(names.indexOf(part) + 1) : "",
        fill: empty ?? signs.get(part)!.colour,
        title: `${row}, ${part}: ${size.toFixed(1)} GiB`,
      });
      at += size;
      if (empty === undefined) held += size;
    }
    return { row, at, text: `${held.toFixed(1)} GiB` };
  });
  return { bars, labels, signs };
}

/** What one card holds in each plan, weights, cache, activations, graphs and what is free, as one SVG. */
export function planFigure(plan: ServingPlan, options: FigureOptions = {}): string {
  const settled = readOptions("plan", FigureOptions, options);
  const rows = memoryRows(plan).filter(({ bytes }) => bytes > 0);
  const parts = [...new Set(rows.map(({ part }) => part))];
  const names = parts.filter((part) => !(part in EMPTY));
  const { shown, notes } = fewest([...new Set(rows.map((row) => row.plan))], "plans");
  const { bars, labels, signs } = stretches(rows, shown, names);
  const longest = Math.max(0, ...labels.map(({ at }) => at));
  const total = (plan.cards.memory_bytes / GIB).toFixed(1);
  const numbers = ({ y }: { y: string }) => [
    Plot.text(bars.filter(({ from, to }) => to - from > longest * NUMBERED), {
      ...{ y, x: "middle", text: "number", fill: PAPER, fontSize: 10 },
    }),
    // What goes beyond it does not fit.
    Plot.ruleX([plan.cards.memory_bytes / GIB], { stroke: INK, strokeWidth: 1.5 }),
  ];
  return drawFigure({
    title: `Memory of one ${plan.cards.name} serving ${plan.model}`,
    subtitle:
      `${total} GiB by the driver (the line), ${plan.asked.utilization} of it used; a cache in ` +
      `${plan.asked.cache_type} for ${counted(plan.asked.sequences, "sequence")}`,
    description: shown.length === 0
      ? "Nothing is drawn: no spread over these cards is possible, and the plan says why."
      : `${counted(shown.length, "plan")} on cards of ${total} GiB: ` +
        `${labels.map((one) => `${one.row} holds ${one.text}`).join("; ")}.`,
    legend: parts.map((part) => ({
      text: part in EMPTY ? part : `${names.indexOf(part) + 1} ${part}`,
      shape: "square" as const,
      colour: EMPTY[part] ?? signs.get(part)!.colour,
    })),
    notes: [...notes, "Activations and graphs are rules of thumb: ± 30 %."],
    panels: shown.length === 0 ? [] : [barPanel(shown, bars, labels, "GiB →", numbers)],
  }, settled);
}
