import * as Plot from "@observablehq/plot";
import { z } from "zod";
import { FULL } from "../../../../core/mod.ts";
import { INK, PAPER, signsOf } from "../ground/colours.ts";
import { drawFigure, drawPanel, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { flag, numeric, readRows, text, trialNames } from "../ground/read_rows.ts";
import { newDocument } from "../ground/svg.ts";
import { counted } from "../../view/number_text.ts";
import { placeLabels } from "../place_labels.ts";

const Options = FigureOptions.extend({ rate: z.enum(["weight_bits", "size_bytes"]).optional() });
export type RateOptions = z.input<typeof Options>;

const COLUMNS = {
  figure: "rateDistortion",
  sql:
    "SELECT t.trial_id, t.methods, t.on_front, t.size_bytes, m.value AS kl, a.weight_bits FROM " +
    "trial_summary t JOIN measurements m USING (study_id, trial_id) LEFT JOIN artifacts a USING " +
    `(artifact_id) WHERE m.metric = 'kl' AND m.task IS NULL AND m.fidelity = '${FULL}'`,
  required: { trial_id: text, methods: text, kl: numeric },
  optional: { weight_bits: numeric, size_bytes: numeric, on_front: flag },
};

interface Point {
  readonly name: string;
  readonly x: number;
  readonly kl: number;
  readonly colour: string;
  readonly filled: boolean;
}

const MOST_LABELS = 30;
const MOST_POINTS = 400;
const HEIGHT = 360;
const MARGIN = { marginLeft: 62, marginRight: 24, marginTop: 32, marginBottom: 42 };

function panelOf(points: readonly Point[], label: string): Panel {
  return (width) => {
    const at = { x: "x", y: "kl", symbol: "shape" } as const;
    const few = points.length <= MOST_POINTS;
    const options = (labels: readonly Plot.Markish[]): Plot.PlotOptions => ({
      ...MARGIN,
      height: HEIGHT,
      x: { label, labelArrow: "none", grid: true, nice: true, inset: 16, ticks: width / 90 },
      y: {
        ...{
          type: "log",
          label: "↓ better: KL to the original, nats per token",
          labelArrow: "none",
        },
        ...{ grid: true, nice: true, ticks: 5, tickFormat: "~g" },
      },
      r: { range: [2, 8] },
      marks: [
        few
          ? Plot.dot(points.filter(({ filled }) => !filled), {
            ...{ ...at, r: 4.5, stroke: "colour", strokeWidth: 1.6, fill: PAPER },
          })
          : Plot.dot(
            points,
            Plot.hexbin({ r: "count" }, {
              ...{ x: "x", y: "kl", binWidth: 12, stroke: INK, fill: INK, fillOpacity: 0.2 },
            }),
          ),
        Plot.dot(few ? points.filter(({ filled }) => filled) : [], { ...at, r: 5, fill: "colour" }),
        ...labels,
      ],
    });
    if (points.length > MOST_LABELS) return options([]);
    const bare = drawPanel(newDocument(), width, options([]));
    const px = (name: "x" | "y", value: number) => Number(bare.scale(name)!.apply(value));
    const spots = points.map(({ x, kl, name }) => ({ x: px("x", x), y: px("y", kl), text: name }));
    const taken = spots.map(({ x, y }) => ({
      left: x - 7,
      right: x + 7,
      top: y - 7,
      bottom: y + 7,
    }));
    const frame = { left: MARGIN.marginLeft, right: width - 4, top: 32, bottom: HEIGHT - 42 };
    const labels = placeLabels(spots, taken, frame).map((offset, index) =>
      Plot.text([points[index]!], {
        ...{ ...offset, x: "x", y: "kl", text: "name", fill: INK, stroke: PAPER, fontSize: 11 },
      })
    );
    return options(labels);
  };
}

/** Bits a weight (or bytes on disk) against the KL to the original, on a logarithmic axis. */
export function rateDistortion(rows: readonly object[], options?: RateOptions): string {
  const settled = readOptions("rateDistortion", Options, options);
  const all = readRows(rows, COLUMNS);
  const rate = settled.rate ??
    (all.some(({ weight_bits }) => weight_bits !== null) ? "weight_bits" : "size_bytes");
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const kept = all.flatMap((row) => {
    const x = row[rate];
    // The baseline's own KL is rounding alone: on a logarithmic axis it would push the rest together.
    if (x === null || row.kl === null || !(row.kl > 0) || row.methods === "baseline") return [];
    const filled = row.on_front === true;
    const per = rate === "size_bytes" ? 1e6 : 1;
    return [{
      name: name(row.trial_id),
      x: x / per,
      kl: row.kl,
      methods: row.methods ?? "–",
      filled,
    }];
  });
  const signs = signsOf(kept.map(({ methods }) => methods));
  const points = kept.map((one) => ({ ...one, ...signs.get(one.methods)! }));
  const best = points.toSorted((a, b) => a.kl - b.kl)[0];
  const words = rate === "weight_bits" ? "bit per weight, with scales" : "MB on disk";
  return drawFigure({
    title: "Rate against distortion",
    description: best === undefined
      ? `Nothing is drawn: no trial has both a KL above 0 and ${rate}. The KL is measured on a text; ` +
        `${COLUMNS.sql} gives the rows.`
      : `${
        counted(points.length, "trial")
      }; nearest to the original is ${best.name} with a KL of ` +
        `${best.kl.toPrecision(2)} nats per token at ${best.x.toPrecision(3)} ${words}.`,
    legend: best === undefined ? [] : [
      ...[...signs].slice(0, 12).map(([text, { colour, shape }]) => ({ text, colour, shape })),
      ...points.some(({ filled }) => filled)
        ? [{ text: "filled: on the front", shape: "circle", colour: INK } as const]
        : [],
    ],
    notes: points.length > MOST_POINTS
      ? [`The ${counted(points.length, "trial")} are drawn as bins, larger for more.`]
      : [],
    panels: best === undefined ? [] : [panelOf(points, `← better: ${words}`)],
  }, settled);
}
