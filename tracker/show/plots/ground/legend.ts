import * as Plot from "@observablehq/plot";
import { INK, type Shape } from "./colours.ts";
import { FONT } from "./svg.ts";
import { shorten, textWidth } from "./words.ts";

/** A sign and what it stands for. */
export interface LegendItem {
  readonly text: string;
  readonly shape: Shape | "line" | "dashes" | "band" | "ring";
  readonly colour?: string;
  /** Drawn as an outline. */
  readonly hollow?: boolean;
  /** A cross stands over it. */
  readonly crossed?: boolean;
}

const SIZE = 11;
const ROW = 19;
const SIGN = 24;

interface Placed extends LegendItem {
  readonly x: number;
  readonly y: number;
  readonly said: string;
  readonly ink: string;
}

/** From left to right in as many rows as they take. */
function placed(items: readonly LegendItem[], width: number): Placed[] {
  let [x, y] = [0, 0];
  return items.map((item) => {
    const said = shorten(item.text, width - SIGN - 4, SIZE);
    const takes = SIGN + textWidth(said, SIZE) + 14;
    if (x > 0 && x + takes - 14 > width) [x, y] = [0, y + ROW];
    const at = { ...item, said, x: x + 8, y: y + ROW / 2, ink: item.colour ?? INK };
    x += takes;
    return at;
  });
}

const isLine = ({ shape }: Placed) => shape === "line" || shape === "dashes" || shape === "band";

/** The legend as Plot draws it, or null where there is nothing to say. */
export function legendOf(
  document: Document,
  items: readonly LegendItem[],
  width: number,
): { element: Element; height: number } | null {
  if (items.length === 0) return null;
  const all = placed(items, width);
  const height = all.at(-1)!.y + ROW / 2;
  const dots = all.filter((one) => !isLine(one) && one.shape !== "ring");
  const at = { x: "x", y: "y" } as const;
  const lines = all.filter(isLine);
  const link = (d: Placed, by: number) => d.x + by;
  const element = Plot.plot({
    document,
    className: "pare",
    width,
    height,
    margin: 0,
    style: { fontFamily: FONT, fontSize: `${SIZE}px`, color: INK, background: "none" },
    x: { type: "identity", axis: null },
    y: { type: "identity", axis: null },
    marks: [
      Plot.link(lines.filter(({ shape }) => shape === "band"), {
        x1: (d: Placed) => link(d, -7),
        x2: (d: Placed) => link(d, 9),
        y: "y",
        stroke: "ink",
        strokeWidth: 9,
        strokeOpacity: 0.22,
      }),
      ...["line", "dashes"].map((kind) =>
        Plot.link(lines.filter(({ shape }) => shape === kind), {
          x1: (d: Placed) => link(d, -7),
          x2: (d: Placed) => link(d, 9),
          y: "y",
          stroke: "ink",
          strokeWidth: 2,
          ...(kind === "dashes" ? { strokeDasharray: "4,3" } : {}),
        })
      ),
      Plot.dot(dots.filter(({ hollow }) => hollow !== true), {
        ...at,
        r: 4.5,
        symbol: "shape",
        fill: "ink",
      }),
      Plot.dot(dots.filter(({ hollow }) => hollow === true), {
        ...{ ...at, r: 4.5, symbol: "shape" },
        ...{ stroke: "ink", strokeWidth: 1.6 },
      }),
      Plot.dot(all.filter(({ crossed }) => crossed === true), {
        ...{ ...at, r: 4.5, symbol: "times", stroke: "ink", strokeWidth: 1.4 },
      }),
      Plot.dot(all.filter(({ shape }) => shape === "ring"), {
        ...{ ...at, r: 7, stroke: "ink", strokeWidth: 1.6 },
      }),
      Plot.text(all, { x: "x", y: "y", dx: 14, text: "said", textAnchor: "start", fill: INK }),
    ],
  }) as unknown as Element; // Plot types its result as the DOM of a browser
  return { element, height };
}
