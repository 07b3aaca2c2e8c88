import { Resvg } from "@resvg/resvg-js";
import { fileURLToPath } from "node:url";
import { inColours } from "./ground/svg.ts";

const FONTS = ["DejaVuSans-subset.ttf", "DejaVuSans-Bold-subset.ttf"].map((name) =>
  fileURLToPath(new URL(`fonts/${name}`, import.meta.url))
);

/**
 * The picture as PNG, drawn with the fonts that ship so that it is the same on every machine; a figure
 * whose colours follow the reader's setting in its light ones.
 */
export function svgToPng(svg: string, width = 1920): Uint8Array {
  const drawing = new Resvg(inColours(svg, 0), {
    fitTo: { mode: "width", value: width },
    font: { fontFiles: FONTS, loadSystemFonts: false, defaultFontFamily: "DejaVu Sans" },
  });
  return drawing.render().asPng();
}
