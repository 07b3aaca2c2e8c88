import * as Plot from "@observablehq/plot";
import { INK, PAPER, QUIET } from "./colours.ts";
import { type LegendItem, legendOf } from "./legend.ts";
import type { Settled } from "./options.ts";
import { finish, FONT, newDocument, svgElement } from "./svg.ts";
import { wrap } from "./words.ts";

/** Draws one panel of a figure, so many pixels wide. */
export type Panel = (width: number) => Plot.PlotOptions;

/** A figure before its size and its colours. */
export interface Drawing {
  readonly title: string;
  /** What it is about, below the title. */
  readonly subtitle?: string;
  /** What a reader who does not see it should know, in a sentence or two. */
  readonly description: string;
  readonly legend?: readonly LegendItem[];
  /** What limits it, a line each, below the panels. */
  readonly notes?: readonly string[];
  /** None: the description stands in their place, and says why. */
  readonly panels: readonly Panel[];
  /** Panels that stand beside each other where there is room; default all. */
  readonly columns?: number;
  /** Least pixels of a panel that stands beside another. */
  readonly panelWidth?: number;
}

const EDGE = 16;

/** Lines of text below one another, from the top that is given. */
class Column {
  readonly #document: Document;
  readonly #root: Element;
  readonly #width: number;
  y: number;

  constructor(document: Document, root: Element, width: number, y: number) {
    [this.#document, this.#root, this.#width, this.y] = [document, root, width, y];
  }

  lines(text: string, size: number, style: Record<string, string> = {}): void {
    for (const line of wrap(text, this.#width - 2 * EDGE, size, "font-weight" in style)) {
      this.y += Math.round(size * 1.4);
      const at = { x: EDGE, y: this.y - Math.round(size * 0.3), fill: INK, "font-size": size };
      this.#root.append(svgElement(this.#document, "text", { ...at, ...style }, line));
    }
  }

  place(element: Element, height: number, x = EDGE): void {
    const group = svgElement(this.#document, "g", { transform: `translate(${x},${this.y})` });
    group.append(element);
    this.#root.append(group);
    this.y += height;
  }
}

/** What an axis of a single value shows beside it, in shares of it. */
const ROOM = 0.1;

/**
 * The options of an axis on which all that is drawn has one value: with room on both sides. Its ticks
 * would have six decimals otherwise, and be cut off at the edge.
 */
function roomy(drawn: Plot.Plot, name: "x" | "y", options: Plot.PlotOptions): Plot.PlotOptions {
  const { type, domain = [] } = drawn.scale(name) ?? {};
  const [low, high] = [...domain as Iterable<unknown>];
  if (typeof low !== "number" || low !== high || type === "band" || type === "point") return {};
  const room = low === 0 ? 1 : Math.abs(low) * ROOM;
  return { [name]: { ...options[name], domain: [low - room, low + room] } };
}

/** A panel as Plot draws it, in the figure's font and colours. */
export function drawPanel(document: Document, width: number, options: Plot.PlotOptions) {
  const { style, ...rest } = options;
  const own = { fontFamily: FONT, fontSize: "11px", color: INK, background: "none" };
  const draw = (axes: Plot.PlotOptions) =>
    Plot.plot({
      ...{ ...rest, ...axes, document, className: "pare", width },
      style: typeof style === "object" ? { ...own, ...style } : own,
    });
  const drawn = draw({});
  const axes = { ...roomy(drawn, "x", options), ...roomy(drawn, "y", options) };
  return Object.keys(axes).length === 0 ? drawn : draw(axes);
}

/** Panels in rows, as many beside each other as fit. */
function placePanels(column: Column, document: Document, drawing: Drawing, width: number): void {
  const { panels, panelWidth = 300 } = drawing;
  const most = Math.max(1, Math.floor((width - EDGE) / panelWidth));
  const beside = Math.min(panels.length, drawing.columns ?? panels.length, most);
  const each = (width - EDGE) / beside;
  for (let first = 0; first < panels.length; first += beside) {
    const { y } = column;
    const heights = panels.slice(first, first + beside).map((panel, index) => {
      const drawn = drawPanel(document, each, panel(each)) as unknown as Element; // as of a browser
      const height = Number(drawn.getAttribute("height"));
      column.y = y;
      column.place(drawn, height, EDGE / 2 + index * each);
      return height;
    });
    column.y = y + Math.max(...heights) + 6;
  }
}

/** The figure as the text of one SVG. */
export function drawFigure(drawing: Drawing, { width, theme, title, caption }: Settled): string {
  const document = newDocument();
  const said = title ?? drawing.title;
  const root = svgElement(document, "svg", {
    xmlns: "http://www.w3.org/2000/svg",
    class: `pare-${theme}`,
    width,
    role: "img",
    "font-family": FONT,
  });
  root.append(svgElement(document, "title", {}, said));
  root.append(svgElement(document, "desc", {}, drawing.description));
  const ground = svgElement(document, "rect", { width, fill: PAPER });
  root.append(ground);
  const column = new Column(document, root, width, 10);
  column.lines(said, 16, { "font-weight": "bold" });
  column.lines(drawing.subtitle ?? "", 12, { fill: QUIET });
  const legend = legendOf(document, drawing.legend ?? [], width - 2 * EDGE);
  column.y += 6;
  if (legend !== null) column.place(legend.element, legend.height + 4);
  if (drawing.panels.length === 0) column.lines(drawing.description, 13);
  else placePanels(column, document, drawing, width);
  for (const note of [...drawing.notes ?? [], ...caption === undefined ? [] : [caption]]) {
    column.lines(note, 11, { fill: QUIET });
  }
  const height = Math.ceil(column.y + 12);
  ground.setAttribute("height", String(height));
  root.setAttribute("height", String(height));
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return finish(root, theme);
}
