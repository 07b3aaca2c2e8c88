import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { beliefMoments, type MethodBelief } from "../../../core/mod.ts";
import { colourOf, FONT, INK } from "./legend.ts";

/** The beliefs as they stood after an episode. */
export interface BeliefsAfter {
  readonly number: number;
  readonly beliefs: readonly MethodBelief[];
}

const WIDTH = 960;
const HEIGHT = 360;

/**
 * The mean of each method's belief after every episode, with a band of one standard deviation. Methods
 * that no trial has used are left out: they stand where they began. Null: there is nothing to draw.
 */
export function beliefsPlot(steps: readonly BeliefsAfter[]): string | null {
  const tried = new Set(
    steps.at(-1)?.beliefs.filter(({ trials }) => trials > 0).map(nameOf) ?? [],
  );
  if (tried.size === 0) return null;
  const methods = [...tried].sort();
  const points = steps.flatMap(({ number, beliefs }) =>
    beliefs.filter((one) => tried.has(nameOf(one))).map((one) => {
      const { mean, deviation } = beliefMoments(one);
      return { number, method: nameOf(one), mean, low: mean - deviation, high: mean + deviation };
    })
  );
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const place = { x: "number", stroke: "method" } as const;
  const drawn = Plot.plot({
    document: document as unknown as Document,
    width: WIDTH,
    height: HEIGHT,
    marginLeft: 58,
    marginRight: 120,
    style: { fontFamily: FONT, fontSize: "12px", background: "white", color: INK },
    x: { label: "episode →", ticks: Math.min(12, steps.length), tickFormat: "d" },
    y: { label: "↑ probability of a better reward than another trial", domain: [0, 1], grid: true },
    color: { domain: methods, range: methods.map((_, index) => colourOf(index)) },
    marks: [
      Plot.areaY(points, {
        x: "number",
        y1: "low",
        y2: "high",
        fill: "method",
        z: "method",
        fillOpacity: 0.1,
      }),
      Plot.line(points, { ...place, y: "mean", strokeWidth: 2 }),
      Plot.dot(points, { ...place, y: "mean", r: 2.5 }),
      Plot.text(apart(points.filter(({ number }) => number === steps.at(-1)!.number)), {
        x: "number",
        y: "at",
        text: "method",
        fill: "method",
        textAnchor: "start",
        dx: 8,
      }),
    ],
  }) as unknown as Element; // Plot types its result as the DOM of a browser
  drawn.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return drawn.outerHTML;
}

function nameOf({ method }: MethodBelief): string {
  return method;
}

/** Labels moved up from one another where their lines end close together. */
function apart<P extends { mean: number }>(points: readonly P[]): (P & { at: number })[] {
  const least = 16 / (HEIGHT - 50);
  let last = -Infinity;
  return points.toSorted((a, b) => a.mean - b.mean).map((point) => {
    last = Math.max(point.mean, last + least);
    return { ...point, at: last };
  });
}
