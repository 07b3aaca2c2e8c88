import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { Episode, Spent } from "../../core/mod.ts";
import { FONT, INK, label, svgElement } from "./legend.ts";

/** What a study costs, and what the axis of each says; in the order in which they are drawn. */
const COSTS: readonly { name: keyof Spent; axis: string; per: number }[] = [
  { name: "seconds", axis: "minutes of the study →", per: 60 },
  { name: "gpu_hours", axis: "GPU hours →", per: 1 },
  { name: "joules", axis: "kilojoules →", per: 1000 },
];

const HEIGHT = 250;

interface Step {
  x: number;
  value: number;
  low: number;
  high: number;
}

/** The hypervolume as each episode left it, over what was spent until then. */
function stepsOf(episodes: readonly Episode[], cost: keyof Spent, per: number): Step[] {
  return episodes.flatMap(({ hypervolume, hypervolume_interval, spent }) => {
    const at = spent?.[cost] ?? null;
    if (at === null || hypervolume === null) return [];
    const [low, high] = hypervolume_interval ?? [hypervolume, hypervolume];
    return [{ x: at / per, value: hypervolume, low, high }];
  });
}

function panel(steps: Step[], axis: string, width: number, document: Document): Element {
  const blue = "#0072B2";
  return Plot.plot({
    document,
    width,
    height: HEIGHT,
    marginLeft: 58,
    marginRight: 24,
    marginTop: 28,
    marginBottom: 40,
    style: { fontFamily: FONT, fontSize: "12px", background: "white", color: INK },
    x: { label: axis, nice: true, grid: true, zero: true },
    y: { label: "↑ hypervolume, more is better", nice: true, grid: true },
    marks: [
      Plot.areaY(steps, {
        x: "x",
        y1: "low",
        y2: "high",
        curve: "step-after",
        fill: blue,
        fillOpacity: 0.15,
      }),
      Plot.line(steps, { x: "x", y: "value", curve: "step-after", stroke: blue, strokeWidth: 2 }),
      Plot.dot(steps, { x: "x", y: "value", r: 3, fill: blue }),
    ],
  }) as unknown as Element; // Plot types its result as the DOM of a browser
}

/**
 * The hypervolume over what the study had spent, a panel for each cost that was measured, with its 95 %
 * interval as a band. Null: fewer than two episodes say what they cost.
 */
export function hypervolumePlot(episodes: readonly Episode[], width = 720): string | null {
  const panels = COSTS.flatMap(({ name, axis, per }) => {
    const steps = stepsOf(episodes, name, per);
    return steps.length < 2 || steps.at(-1)!.x === 0 ? [] : [{ axis, steps }];
  });
  if (panels.length === 0) return null;
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const height = HEIGHT + 36;
  const root = svgElement(document, "svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
  });
  root.append(svgElement(document, "rect", { width, height, fill: "white" }));
  const title = "Hypervolume of the front over what the study spent";
  root.append(label(document, title, 20, 24, { "font-size": 14, "font-weight": "bold" }));
  const each = width / panels.length;
  panels.forEach(({ axis, steps }, i) => {
    const group = svgElement(document, "g", { transform: `translate(${i * each}, 36)` });
    group.append(panel(steps, axis, each, document as unknown as Document) as unknown as Node);
    root.append(group);
  });
  return root.outerHTML;
}
