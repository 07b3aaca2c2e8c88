/** What P(front) says beside how often it is true, a line a layout: the picture of its calibration. */
import * as Plot from "@observablehq/plot";
import { signsOf } from "../../../tracker/show/plots/ground/colours.ts";
import { drawFigure } from "../../../tracker/show/plots/ground/frame.ts";
import { FigureOptions, readOptions } from "../../../tracker/show/plots/ground/options.ts";
import { type CalibrationRow, LEAST_COUNTED } from "./calibration_rows.ts";

export function calibrationFigure(rows: readonly CalibrationRow[]): string {
  const signs = signsOf(rows.map(({ layout }) => layout));
  const points = rows.flatMap(({ layout, bands }) =>
    bands.filter(({ n }) => n >= LEAST_COUNTED)
      .map(({ said, true: share }) => ({ layout, said, share, ...signs.get(layout)! }))
  );
  const scale = (label: string) => ({ label, labelArrow: "none" as const, domain: [0, 1] });
  return drawFigure({
    title: "How often what P(front) says is true",
    subtitle: "simulated studies of 400 samples",
    description:
      `${rows.length} kinds of studies: the share of trials truly on the front, over the ` +
      "probability that was said; on the diagonal both are equal.",
    legend: [...signs].map(([text, { colour, shape }]) => ({ text, colour, shape })),
    notes: [`Bands of ${LEAST_COUNTED} trials and more.`],
    panels: [() => ({
      ...{ height: 420, marginLeft: 52, marginRight: 18, marginTop: 30, marginBottom: 40 },
      x: scale("said →"),
      y: { ...scale("↑ true"), grid: true },
      marks: [
        Plot.line([[0, 0], [1, 1]], { stroke: "#8a949e", strokeDasharray: "4 4" }),
        Plot.line(points, {
          x: "said",
          y: "share",
          z: "layout",
          stroke: "colour",
          strokeWidth: 1.6,
        }),
        Plot.dot(points, { x: "said", y: "share", symbol: "shape", fill: "colour", r: 3.5 }),
      ] as Plot.Markish[],
    })],
    panelWidth: 640,
  }, readOptions("calibrationFigure", FigureOptions, {}));
}
