/** Colours that stay apart for colour-blind readers (Okabe and Ito, 2008). */
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31"];
export const INK = "#1f2933";
export const FONT = "DejaVu Sans, sans-serif";

/** The colour of the nth method; they repeat after seven. */
export function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length]!;
}

/** An SVG element with its attributes. */
export function svgElement(
  document: Document,
  name: string,
  attributes: Record<string, string | number>,
) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** A line of text at a point. */
export function label(
  document: Document,
  text: string,
  x: number,
  y: number,
  style: Record<string, string | number> = {},
) {
  const element = svgElement(document, "text", {
    x,
    y,
    fill: INK,
    "font-family": FONT,
    "font-size": 12,
    ...style,
  });
  element.textContent = text;
  return element;
}

/** The five signs of the figure, drawn as the figure draws them. */
function signs(document: Document, y: number) {
  const group = svgElement(document, "g", { "font-size": 11 });
  const texts = [
    "baseline",
    "on the front",
    "beaten, or not in full",
    "breaks a limit",
    "recommended",
  ];
  const dot = { cy: y - 4, fill: "white", stroke: INK, "stroke-width": 1.6 };
  let x = 58;
  texts.forEach((text) => {
    if (text === "baseline") group.append(label(document, "★", x - 6, y));
    else if (text === "on the front") {
      group.append(svgElement(document, "circle", { ...dot, cx: x, r: 5, fill: INK }));
    } else if (text === "beaten, or not in full") {
      group.append(svgElement(document, "circle", { ...dot, cx: x, r: 4.5 }));
    } else if (text === "recommended") {
      group.append(svgElement(document, "circle", { ...dot, cx: x, r: 8 }));
    } else {
      const cross = `M${x - 4},${y - 8}l8,8m0,-8l-8,8`;
      group.append(svgElement(document, "path", { d: cross, stroke: INK, "stroke-width": 1.8 }));
    }
    group.append(label(document, text, x + 12, y, { "font-size": 11 }));
    x += 34 + text.length * 6.6;
  });
  return group;
}

/** Colours by method, then the signs. */
export function legend(document: Document, methods: string[], y: number) {
  const group = svgElement(document, "g", {});
  let x = 58;
  methods.forEach((method, index) => {
    const fill = colourOf(index);
    group.append(svgElement(document, "circle", { cx: x, cy: y - 4, r: 5, fill }));
    group.append(label(document, method, x + 10, y));
    x += 28 + method.length * 7.4;
  });
  group.append(signs(document, y + 24));
  return group;
}
