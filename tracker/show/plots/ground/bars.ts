import * as Plot from "@observablehq/plot";
import { INK, RULE } from "./colours.ts";
import type { Panel } from "./frame.ts";
import { shorten, textWidth } from "./words.ts";

/** A stretch of one row's bar. */
export interface Bar {
  readonly row: string;
  readonly from: number;
  readonly to: number;
  readonly fill: string;
  /** What the bar says when pointed at. */
  readonly title: string;
}

/** What stands behind a row's bars. */
export interface RowLabel {
  readonly row: string;
  readonly at: number;
  readonly text: string;
}

const BAR_ROW = 26;
/** Rows that a figure has room for; more are counted in its caption. */
const MOST_BARS = 60;

/** Horizontal bars, a row each, with words behind them and an axis of numbers below. */
export function barPanel(
  rows: readonly string[],
  bars: readonly Bar[],
  labels: readonly RowLabel[],
  axis: string,
  more: (place: { readonly y: string }) => Plot.Markish[] = () => [],
): Panel {
  return (width) => {
    const longest = Math.max(0, ...rows.map((row) => textWidth(row, 11)));
    const left = Math.min(longest + 14, width * 0.38);
    const behind = Math.max(0, ...labels.map(({ text }) => textWidth(text, 11)));
    return {
      height: 50 + BAR_ROW * rows.length,
      marginLeft: left,
      marginRight: Math.min(width * 0.4, behind + 16),
      marginTop: 8,
      marginBottom: 42,
      x: { label: axis, labelArrow: "none", grid: true, zero: true, ticks: width / 100 },
      y: {
        ...{ domain: [...rows], label: null, tickSize: 0, padding: 0.25 },
        tickFormat: (row: string) => shorten(row, left - 10, 11),
      },
      marks: [
        Plot.barX(bars, { y: "row", x1: "from", x2: "to", fill: "fill", title: "title" }),
        ...more({ y: "row" }),
        Plot.ruleX([0], { stroke: RULE }),
        Plot.text(labels, {
          ...{ y: "row", x: "at", text: "text", dx: 9, textAnchor: "start" },
          ...{ fontSize: 11, fill: INK },
        }),
      ],
    };
  };
}

/** The rows that are drawn, and the sentence about those that are not. */
export function fewest<T>(rows: readonly T[], what: string): { shown: T[]; notes: string[] } {
  const shown = rows.slice(0, MOST_BARS);
  return {
    shown,
    notes: shown.length === rows.length
      ? []
      : [`Drawn are the first ${shown.length} of ${rows.length.toLocaleString("en-US")} ${what}.`],
  };
}
