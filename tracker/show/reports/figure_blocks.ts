import { type ArtifactFigure, type Trial, trialName } from "../../../core/mod.ts";
import { bytes, number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, table } from "./blocks.ts";

/** Kinds of figures of one artifact that the report has room for. */
const MOST_METRICS = 10;

function withUnit(value: number, unit: string): string {
  if (unit === "bytes") return bytes(value);
  return unit === "1" ? number(value) : `${number(value)} ${unit}`;
}

function median(sorted: readonly number[]): number {
  const half = (sorted.length - 1) / 2;
  return (sorted[Math.floor(half)]! + sorted[Math.ceil(half)]!) / 2;
}

/** Of many layers the least, the median and the most. */
function layersText(values: readonly number[], unit: string): string {
  const sorted = [...values].sort((a, b) => a - b);
  const told = [sorted[0]!, median(sorted), sorted.at(-1)!].map((one) => withUnit(one, unit));
  const [low, middle, high] = told;
  return low === high
    ? `${low} in each of ${sorted.length} layers`
    : `${low} to ${high}, median ${middle}, in ${sorted.length} layers`;
}

/** A metric's name as a reader says it: a unit's symbol that ends it stands behind the figure. */
function metricWords(metric: string, unit: string): string {
  const end = unit === "bytes" ? " " : `_${unit.toLowerCase()}`;
  return (metric.endsWith(end) ? metric.slice(0, -end.length) : metric).replaceAll("_", " ");
}

/** A metric's own figure, then that of its layers: `sparsity: 0.5; 0.31 to 0.62, median 0.5, in 210 layers`. */
function metricText(metric: string, found: readonly ArtifactFigure[]): string {
  const whole = found.filter(({ layer }) => layer === null).map((one) =>
    withUnit(one.value, one.unit)
  );
  const layers = found.filter(({ layer }) => layer !== null).map(({ value }) => value);
  const summed = layers.length === 0 ? [] : [layersText(layers, found[0]!.unit)];
  return `${metricWords(metric, found[0]!.unit)}: ${[...whole, ...summed].join("; ")}`;
}

/** What a method tells of its artifact, in a few words a metric. */
export function figuresText(figures: readonly ArtifactFigure[]): string {
  const metrics = [...Map.groupBy(figures, ({ metric }) => metric)];
  const told = metrics.slice(0, MOST_METRICS).map(([metric, found]) => metricText(metric, found));
  const left = metrics.length - told.length;
  return [...told, ...(left === 0 ? [] : [`${left} more in SQL`])].join("; ");
}

/** What the actions left, in numbers, an artifact once however many trials went through it. */
export function figureBlocks({ trials, artifacts }: StudyView): Block[] {
  const users = new Map<string, Trial[]>();
  for (const trial of trials) {
    for (const id of new Set(trial.artifact_ids)) users.set(id, [...users.get(id) ?? [], trial]);
  }
  const rows = [...users].flatMap(([id, by]) => {
    const { action, figures = [] } = artifacts.get(id) ?? {};
    return figures.length === 0 ? [] : [[
      by.map(({ number }) => trialName(number)).join(", "),
      action?.method ?? "–",
      figuresText(figures),
    ]];
  });
  if (rows.length === 0) return [];
  const note = "Told by the methods themselves, but the energy, which pare counts; every layer: " +
    "`artifact_figures` in SQL.";
  return [heading(2, "What the actions left"), table(["trial", "action", "figures"], rows, note)];
}
