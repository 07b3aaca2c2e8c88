import { Buffer } from "node:buffer";
import { UsageError } from "../../../core/mod.ts";
import { svgToPng } from "../plots/svg_to_png.ts";
import type { Media } from "../../ground/terminal/kernel.ts";
import { type Displayed, displayed } from "./display.ts";

/** A figure that shows itself; `svg` is its text. */
export type ShownFigure = Displayed<{ readonly svg: string }>;

/** An element as a plot library makes it. */
interface Drawn {
  readonly outerHTML: string;
}

const PNG_WIDTH = 1600;

/** The `<svg>` in what was drawn: Plot puts one with a legend into a `<figure>`. */
function svgTextOf(drawn: string | Drawn): string {
  const text = typeof drawn === "string" ? drawn : drawn?.outerHTML;
  const found = typeof text === "string" ? /<svg[\s>][\s\S]*<\/svg>/i.exec(text)?.[0] : undefined;
  if (found !== undefined) return found;
  throw new UsageError(
    "Cannot show the figure as there is no <svg> in it: give the text of an SVG or an element " +
      "such as Plot.plot({ … }) makes",
  );
}

/** Adds to the opening tag what it lacks. */
function withAttribute(tag: string, name: string, value: string): string {
  return new RegExp(`\\s${name}\\s*=`, "i").test(tag)
    ? tag
    : tag.replace(/^<svg/i, `<svg ${name}="${value}"`);
}

function lengthOf(tag: string, name: string): number | null {
  const found = new RegExp(`\\s${name}\\s*=\\s*["']([\\d.]+)(px)?["']`, "i").exec(tag);
  return found === null ? null : Number(found[1]);
}

/** An SVG that stands alone and shrinks with its page: namespace, viewBox, at most the page's width. */
export function fittingSvg(drawn: string | Drawn): string {
  const svg = svgTextOf(drawn);
  return svg.replace(/^<svg[^>]*>/i, (opening) => {
    let tag = withAttribute(opening, "xmlns", "http://www.w3.org/2000/svg");
    const [width, height] = [lengthOf(tag, "width"), lengthOf(tag, "height")];
    if (width !== null && height !== null) {
      tag = withAttribute(tag, "viewBox", `0 0 ${width} ${height}`);
    }
    const fit = "max-width:100%;height:auto";
    return /\sstyle\s*=\s*"/i.test(tag)
      ? tag.replace(/\sstyle\s*=\s*"/i, (found) => `${found}${fit};`)
      : withAttribute(tag, "style", fit);
  });
}

/** What a figure says of itself: its title and description. */
function textOf(svg: string): string {
  const said = ["title", "desc"].flatMap((name) =>
    new RegExp(`<${name}[^>]*>([\\s\\S]*?)</${name}>`, "i").exec(svg)?.[1] ?? []
  );
  const plain = said.join(". ").replaceAll(/<[^>]*>/g, "").replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&").trim();
  return plain === "" ? "A figure" : plain;
}

/** The picture for where SVG is not shown; what cannot be drawn here leaves it out. */
export function pngOf(svg: string): Media {
  try {
    return { "image/png": Buffer.from(svgToPng(svg, PNG_WIDTH)).toString("base64") };
  } catch {
    return {}; // an SVG that is not pare's own may hold what only a browser draws
  }
}

/**
 * A figure of your own or of `figures`, as a cell's last value: the text of an SVG, or an element as
 * `Plot.plot({ document, … })` makes one. It shrinks with the page, and a PNG beside it is what a
 * notebook shows that nobody trusts. `text` stands for it where no picture can.
 */
export function showFigure(
  drawn: string | Drawn,
  { text }: { readonly text?: string } = {},
): ShownFigure {
  const svg = fittingSvg(drawn);
  return displayed({ svg }, () => ({
    "image/svg+xml": svg,
    ...pngOf(svg),
    "text/plain": text ?? textOf(svg),
  }));
}
