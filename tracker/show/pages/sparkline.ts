import { number } from "../view/number_text.ts";
import { escapeHtml } from "./client/table.js";

/** A curve as a line of text has room for it. */
export interface Spark {
  readonly name: string;
  /** In the order of their steps; of very many the means of some. */
  readonly points: readonly { readonly step: number; readonly value: number }[];
  /** Of all that were logged: how many, and where they begin, end and lie lowest. */
  readonly count: number;
  readonly first_step: number;
  readonly first: number;
  readonly last_step: number;
  readonly last: number;
  readonly least: number;
}

const [WIDTH, HEIGHT, EDGE] = [160, 32, 2];

/** What a curve says to whoever does not see it: where it begins, ends, and lies lowest. */
export function sparkWords(spark: Omit<Spark, "points">): string {
  const { name, count, first, first_step, last, last_step, least } = spark;
  return `${name.replaceAll("_", " ")}: ${number(first)} at step ${first_step}, ` +
    `${number(last)} at step ${last_step}, lowest ${number(least)}, ${count} ` +
    (count === 1 ? "point" : "points");
}

/** A curve of a few pixels, drawn in the colour of the text around it; nothing of no finite point. */
export function sparkline({ points, ...of }: Spark): string {
  const finite = points.filter(({ value }) => Number.isFinite(value));
  if (finite.length === 0) return "";
  const [steps, values] = [finite.map(({ step }) => step), finite.map(({ value }) => value)];
  const scale = (all: readonly number[], length: number) => {
    const [low, high] = [Math.min(...all), Math.max(...all)];
    return (one: number) => EDGE + (high === low ? 0.5 : (one - low) / (high - low)) * length;
  };
  const [x, y] = [scale(steps, WIDTH - 2 * EDGE), scale(values, HEIGHT - 2 * EDGE)];
  const line = finite.map(({ step, value }) =>
    `${x(step).toFixed(1)},${(HEIGHT - y(value)).toFixed(1)}`
  ).join(" ");
  return `<svg class="spark" role="img" width="${WIDTH}" height="${HEIGHT}" ` +
    `viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-label="${escapeHtml(sparkWords(of))}">` +
    `<polyline points="${line}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>`;
}
