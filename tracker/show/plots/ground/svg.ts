import { parseHTML } from "linkedom";
import { COLOURS } from "./colours.ts";

export type Theme = "auto" | "light" | "dark";

/** The font of every figure; DejaVu Sans ships for PNG. */
export const FONT = "DejaVu Sans, Verdana, sans-serif";

/** An empty document to draw in. */
export function newDocument(): Document {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  return document as unknown as Document; // linkedom types its own DOM
}

/** An SVG element with its attributes. */
export function svgElement(
  document: Document,
  name: string,
  attributes: Record<string, string | number>,
  text?: string,
): Element {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

function rules(index: 0 | 1): string {
  return Object.entries(COLOURS).map(([name, both]) => `--pare-${name}:${both[index]}`).join(";");
}

/** The two sets of colours; the reader's own setting takes one. */
const STYLE = `<style>.pare-auto{${rules(0)}}` +
  `@media (prefers-color-scheme:dark){.pare-auto{${rules(1)}}}</style>`;

/** Colours by name to those of one ground. */
export function inColours(svg: string, index: 0 | 1): string {
  return svg.replace(/<style>\.pare-auto[\s\S]*?<\/style>/, "")
    .replace(/var\(--pare-(\w+)\)/g, (_, name: string) => COLOURS[name]?.[index] ?? "currentColor");
}

/** Numbers in attributes with two decimals: nobody sees more, and machines differ in the rest. */
function rounded(svg: string): string {
  return svg.replace(
    /="([^"<>]*\d\.\d{3}[^"<>]*)"/g,
    (_, value: string) =>
      `="${
        value.replace(
          /-?\d+\.\d{3,}(e-?\d+)?/g,
          (one) => String(Number(Number(one).toFixed(2)) + 0),
        )
      }"`,
  );
}

/** The text of a figure that is drawn, in the colours of its theme. */
export function finish(root: Element, theme: Theme): string {
  // Plot's own style sheet is for pages of its own: what a figure needs of it stands in its attributes.
  // It names its groups "dot" or "rule", too: a group without a role may have no name, and it says nothing.
  const own = root.outerHTML.replace(/<style>:where\(\.pare[\s\S]*?<\/style>/g, "");
  const drawn = rounded(own.replace(/(<g\b(?![^>]*\brole=)[^>]*?) aria-label="[^"]*"/g, "$1"));
  if (theme !== "auto") return inColours(drawn, theme === "light" ? 0 : 1);
  const head = drawn.indexOf(">") + 1;
  return drawn.slice(0, head) + STYLE + drawn.slice(head);
}

/** What a figure says in words, for a place that shows no picture. */
export function figureText(svg: string): string {
  const text = (tag: string) =>
    (new RegExp(`<${tag}[^>]*>([^<]*)</${tag}>`).exec(svg)?.[1] ?? "")
      .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&");
  return `${text("title")}: ${text("desc")}`;
}
