import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import {
  isDecisive,
  isShare,
  knownMetric,
  metricOf,
  type QualityMetric,
  trialName,
} from "../../core/mod.ts";
import { drawnObjectives } from "../view/drawn_objectives.ts";
import type { TrialRow } from "../view/trial_rows.ts";
import { colourOf, FONT, INK, label, legend, svgElement } from "./legend.ts";
import { type Box, placeLabels } from "./place_labels.ts";

/** What the figure says beside the points. */
export interface ParetoPlotOptions {
  title: string;
  subtitle: string;
  /** What the front is of, where it is not the default: a line below. */
  note?: string | null;
  /** Metrics that the front is of, the quality first; the quality is drawn over the next two. */
  objectives: readonly string[];
  /** What the quality is called. */
  quality: string;
  /** Absolute drop that the study allows, drawn as a line below the baseline; null = none. */
  maxAccuracyDrop: number | null;
  /** Trial id of the recommended trial, or null. */
  recommended: string | null;
  width?: number;
}

interface Point {
  x: number;
  /** The interval along x; equal ends: none. */
  left: number;
  right: number;
  y: number;
  low: number;
  high: number;
  label: string;
  methods: string;
  kind: "baseline" | "front" | "dominated" | "violated";
  /** It was not evaluated on the last rung. */
  partial: boolean;
  recommended: boolean;
}

function points(rows: TrialRow[], { x }: Panel, recommended: string | null): Point[] {
  return rows.flatMap((row) => {
    const y = row.baseline ? { value: 0, interval: null } : row.difference;
    const at = x(row);
    if (y === null || at === null || row.state !== "completed") return [];
    const [low, high] = y.interval ?? [y.value, y.value];
    const [left, right] = at.interval ?? [at.value, at.value];
    return [{
      ...{ x: at.value, left, right },
      ...{ y: y.value, low, high },
      label: row.baseline ? "baseline" : trialName(row.number),
      methods: row.methods,
      kind: row.baseline
        ? "baseline"
        : row.violated
        ? "violated"
        : row.on_front
        ? "front"
        : "dominated",
      partial: row.fidelity !== null && !isDecisive(row.fidelity),
      recommended: row.trial_id === recommended,
    }];
  });
}

/** The staircase of the points that nothing beats in this panel's two dimensions. */
function staircase(all: Point[], better: 1 | -1, ascending: boolean): { x: number; y: number }[] {
  const valid = all.filter((p) => p.kind !== "violated" && !p.partial)
    .sort((a, b) => ascending ? a.x - b.x : b.x - a.x);
  const steps: { x: number; y: number }[] = [];
  for (const point of valid) {
    const last = steps.at(-1);
    if (last === undefined || (point.y - last.y) * better > 0) steps.push(point);
  }
  return steps;
}

interface Panel {
  label: string;
  /** Whether less is better along it. */
  ascending: boolean;
  /** Where a trial stands along it; null: it was not measured. */
  x: (row: TrialRow) => { value: number; interval: readonly [number, number] | null } | null;
}

/** What is drawn upwards, and which way is better. */
function qualityLabel(metric: QualityMetric, { quality }: ParetoPlotOptions): string {
  return isShare(metric)
    ? `↑ better: ${quality} less the baseline's (paired, 95 % interval)`
    : `${quality} over the baseline's, relative rise (paired, 95 % interval); ↓ better`;
}

/** The line of the accuracy drop that is allowed. */
function thresholdMarks(threshold: number, drop: number): Plot.Markish[] {
  return [
    Plot.ruleY([threshold], { stroke: "#b42318", strokeDasharray: "5,4", strokeOpacity: 0.8 }),
    Plot.text([threshold], {
      y: (d: number) => d,
      frameAnchor: "right",
      dy: 9,
      dx: -4,
      fill: "#b42318",
      fontSize: 10,
      textAnchor: "end",
      text: () => `allowed drop ${drop}`,
    }),
  ];
}

/** The points by what they are, their intervals and labels. */
function pointMarks(all: Point[]): Plot.Markish[] {
  const place = { x: "x", y: "y" } as const;
  const measured = all.filter((point) => point.kind !== "baseline");
  const of = (kind: Point["kind"]) => all.filter((point) => point.kind === kind);
  return [
    Plot.link(measured, {
      x1: "x",
      x2: "x",
      y1: "low",
      y2: "high",
      stroke: "methods",
      strokeOpacity: 0.45,
    }),
    Plot.link(measured.filter(({ left, right }) => right > left), {
      x1: "left",
      x2: "right",
      y1: "y",
      y2: "y",
      stroke: "methods",
      strokeOpacity: 0.45,
    }),
    Plot.dot(of("dominated"), {
      ...place,
      r: 5,
      stroke: "methods",
      strokeWidth: 1.8,
      fill: "white",
    }),
    Plot.dot(of("front"), { ...place, r: 6, fill: "methods", stroke: "white", strokeWidth: 1 }),
    Plot.dot(of("violated"), {
      ...place,
      r: 5,
      symbol: "times",
      stroke: "methods",
      strokeWidth: 2,
    }),
    Plot.dot(measured.filter((p) => p.recommended), {
      ...place,
      r: 11,
      stroke: INK,
      strokeWidth: 1.6,
    }),
    ...of("baseline").slice(0, 1).map((one) =>
      Plot.dot([one], { ...place, r: 7, symbol: "star", fill: INK })
    ),
  ];
}

const MARGIN = { left: 62, right: 34, top: 28, bottom: 44 };
const HEIGHT = 380;

/** A mark a label, where it covers neither another nor a point nor an interval. */
function labelMarks(all: Point[], scale: (name: "x" | "y") => Plot.Scale, width: number) {
  const [x, y] = [scale("x"), scale("y")].map(({ apply }) => (value: number) =>
    Number(apply(value))
  );
  const at = (point: Point) => ({ x: x!(point.x), y: y!(point.y), text: point.label });
  const box = (left: number, top: number, right: number, bottom: number, by: number): Box => ({
    left: Math.min(left, right) - by,
    right: Math.max(left, right) + by,
    top: Math.min(top, bottom) - by,
    bottom: Math.max(top, bottom) + by,
  });
  const obstacles = all.flatMap((point) => {
    const { x: cx, y: cy } = at(point);
    return [
      box(cx, cy, cx, cy, point.recommended ? 11 : 6),
      box(cx, y!(point.low), cx, y!(point.high), 1),
      box(x!(point.left), cy, x!(point.right), cy, 1),
    ];
  });
  const frame = {
    left: MARGIN.left,
    right: width - 4,
    top: MARGIN.top,
    bottom: HEIGHT - MARGIN.bottom,
  };
  const offsets = placeLabels(all.map(at), obstacles, frame);
  return all.map((point, i) =>
    Plot.text([point], {
      ...{ x: "x", y: "y", text: "label" },
      ...offsets[i]!,
      fontSize: 11,
      fill: INK,
      stroke: "white",
      strokeWidth: 3,
    })
  );
}

function panel(
  rows: TrialRow[],
  drawn: Panel,
  quality: QualityMetric,
  options: ParetoPlotOptions,
  methods: string[],
  document: Document,
): Element {
  const all = points(rows, drawn, options.recommended);
  const better = isShare(quality) ? 1 : -1;
  const drop = isShare(quality) && all.some(({ kind }) => kind === "baseline")
    ? options.maxAccuracyDrop
    : null;
  const width = options.width ?? 480;
  const figure = (labels: Plot.Markish[]) =>
    Plot.plot({
      document,
      width,
      height: HEIGHT,
      marginLeft: MARGIN.left,
      marginRight: MARGIN.right,
      marginTop: MARGIN.top,
      marginBottom: MARGIN.bottom,
      style: { fontFamily: FONT, fontSize: "12px", background: "white", color: INK },
      x: {
        label: drawn.label,
        labelArrow: "none",
        nice: true,
        grid: true,
        zero: false,
        insetLeft: 14,
        insetRight: 22,
      },
      y: { label: qualityLabel(quality, options), labelArrow: "none", nice: true, grid: true },
      color: { domain: methods, range: methods.map((_, index) => colourOf(index)) },
      marks: [
        ...(drop === null ? [] : thresholdMarks(-drop, drop)),
        Plot.line(staircase(all, better, drawn.ascending), {
          x: "x",
          y: "y",
          curve: "step-after",
          stroke: "#9aa5b1",
          strokeWidth: 1.5,
        }),
        ...pointMarks(all),
        ...labels,
      ],
    });
  // Drawn once without labels: where points stand in pixels, its scales tell.
  const bare = figure([]);
  const labels = all.length === 0 ? [] : labelMarks(all, (name) => bare.scale(name)!, width);
  return figure(labels) as unknown as Element; // Plot types its result as the DOM of a browser
}

/** A sentence in lines of at most so many characters. */
function lines(text: string, characters: number): string[] {
  return text.split(" ").reduce<string[]>((done, word) => {
    const last = done.at(-1);
    const longer = last === undefined ? word : `${last} ${word}`;
    return last !== undefined && longer.length <= characters
      ? [...done.slice(0, -1), longer]
      : [...done, word];
  }, []);
}

/** What the figure draws: a panel for each of the first costs, bytes in megabytes. */
function panelsOf(rows: TrialRow[], { objectives }: ParetoPlotOptions): Panel[] {
  const runtime = rows.find((row) => row.runtime !== null)?.runtime ?? "the runtime";
  return drawnObjectives(objectives).drawn.map((name) => {
    const { unit, direction, words, in_runtime } = knownMetric(name, "metric");
    const ascending = direction === "minimize";
    const better = ascending ? "← better" : "better →";
    const per = unit === "bytes" ? 1e6 : 1;
    const x = (row: TrialRow) => {
      const value = row.figures[name]?.value;
      return value === undefined ? null : { value: value / per, interval: null };
    };
    if (name === "latency_ms" && rows.some(({ latency_ratio }) => latency_ratio !== null)) {
      return {
        label: `${better}: latency in ${runtime}, × the baseline beside it (95 % interval)`,
        x: (row) => row.latency_emulated ? null : row.latency_ratio,
        ascending,
      };
    }
    const where = in_runtime === true ? ` in ${runtime}` : unit === "bytes" ? " on disk" : "";
    const of = unit === "bytes" ? " (MB)" : words === unit ? "" : ` (${unit})`;
    return { label: `${better}: ${words}${where}${of}`, x, ascending };
  });
}

/** What the figure leaves to the table, as a sentence; empty: nothing. */
function leftSentence({ objectives }: ParetoPlotOptions): string {
  const { drawn, left } = drawnObjectives(objectives);
  const words = (names: readonly string[]) => names.map((one) => metricOf(one)?.words ?? one);
  return left.length === 0
    ? ""
    : `Drawn over ${words(drawn).join(" and ")} alone, not over ${words(left).join(" or ")}.`;
}

/**
 * The panels of one front: quality over the first two of its costs, by default latency and bytes on
 * disk. What the front is of, and what of it is not drawn, stands under the subtitle. A filled point is on the front
 * of all objectives together, so it may lie under one panel's staircase.
 */
export function paretoPlot(rows: TrialRow[], options: ParetoPlotOptions): string {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const width = options.width ?? 960;
  const quality = options.objectives.includes("perplexity") ? "perplexity" : "accuracy";
  const methods = [
    ...new Set(
      rows.filter((row) => !row.baseline && row.state === "completed").map((row) => row.methods),
    ),
  ]
    .sort();
  const note = `${options.note ?? ""} ${leftSentence(options)}`.trim();
  const said = lines(note, width / 6.6);
  const top = 58 + (said.length === 1 && said[0] === "" ? 0 : 15 * said.length);
  const height = 442 + top;
  const root = svgElement(document, "svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
  });
  root.append(svgElement(document, "rect", { width, height, fill: "white" }));
  root.append(label(document, options.title, 20, 28, { "font-size": 17, "font-weight": "bold" }));
  root.append(label(document, options.subtitle, 20, 48, { "font-size": 12, opacity: 0.85 }));
  said.forEach((line, i) => root.append(label(document, line, 20, 65 + 15 * i)));
  const panels = panelsOf(rows, options);
  const each = width / panels.length;
  panels.forEach((one, index) => {
    const drawn = panel(
      rows,
      one,
      quality,
      { ...options, width: each },
      methods,
      document as unknown as Document,
    );
    const group = svgElement(document, "g", { transform: `translate(${index * each}, ${top})` });
    group.append(drawn as unknown as Node);
    root.append(group);
  });
  root.append(legend(document, methods, 404 + top));
  return root.outerHTML;
}
