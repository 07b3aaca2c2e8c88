import * as Plot from "@observablehq/plot";
import { z } from "zod";
import { INK, PAPER, RULE, signsOf } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { flag, numeric, readRows, text, trialNames } from "../ground/read_rows.ts";
import { shorten } from "../ground/words.ts";
import { counted } from "../../view/number_text.ts";

const Options = FigureOptions.extend({
  outcomes: z.array(z.string()).optional().describe("columns of the rows that end the lines"),
});
export type RecipesOptions = z.input<typeof Options>;

const COLUMNS = {
  figure: "recipes",
  sql:
    "SELECT k.trial_id, a.method, k.knob, k.value AS knob_value, k.number AS knob_number, l.methods, " +
    "l.on_front, l.accuracy, l.latency_ratio, l.size_bytes FROM knobs k JOIN actions a USING " +
    "(study_id, trial_id, action_index) JOIN leaderboard l USING (study_id, trial_id)",
  required: { trial_id: text, method: text, knob: text, knob_value: text },
  optional: { knob_number: numeric, methods: text, on_front: flag },
};
const OUTCOMES = ["accuracy", "latency_ratio", "size_bytes"];
const UNUSED = "not used";
const METHODS = "methods";
const MOST_AXES = 12;
const MOST_LINES = 200;

/** An axis: where each of its values stands, from 0 to 1 upwards. */
interface Axis {
  readonly name: string;
  readonly place: (value: string | number | undefined) => number | null;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

function knobAxis(
  name: string,
  found: readonly { value: string; number: number | null }[],
  whole: boolean,
): Axis {
  const by = new Map(found.map(({ value, number }) => [value, number]));
  const values = [...by].toSorted(([a, m], [b, n]) =>
    m !== null && n !== null ? m - n : a.localeCompare(b, "en", { numeric: true })
  ).map(([value]) => value);
  const all = whole ? values : [UNUSED, ...values];
  const at = (value: string) => all.length === 1 ? 0.5 : all.indexOf(value) / (all.length - 1);
  const every = Math.ceil(all.length / 8);
  return {
    name,
    place: (value) => at(String(value ?? UNUSED)),
    ticks: all.filter((_, i) => i % every === 0).map((value) => ({ at: at(value), text: value })),
  };
}

function outcomeAxis(name: string, values: readonly number[]): Axis {
  const [low, high] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [
    Infinity,
    -Infinity,
  ]);
  const at = (value: number) => high === low ? 0.5 : (value - low) / (high - low);
  const words = (value: number) =>
    name === "size_bytes" ? `${(value / 1e6).toFixed(0)} MB` : value.toPrecision(3);
  return {
    name: name === "size_bytes" ? "size" : name.replaceAll("_", " "),
    place: (value) => typeof value === "number" ? at(value) : null,
    ticks: (high === low ? [low] : [low, (low + high) / 2, high])
      .map((value) => ({ at: at(value), text: words(value) })),
  };
}

interface Line {
  readonly trial: string;
  readonly methods: string;
  readonly front: boolean;
  readonly values: Readonly<Record<string, string | number>>;
}

function panelOf(axes: readonly Axis[], lines: readonly Line[], keys: readonly string[]): Panel {
  return (width) => {
    // Narrow: axes below one another would be another figure, so their names take turns in two rows.
    const each = (width - 74) / Math.max(1, axes.length - 1);
    const room = each < 110 ? each * 2 - 6 : each - 6;
    const signs = signsOf(lines.map(({ methods }) => methods));
    const points = lines.flatMap((line) =>
      axes.flatMap((axis, index) => {
        const y = axis.place(line.values[keys[index]!]);
        return y === null ? [] : [{ ...line, ...signs.get(line.methods)!, x: index, y }];
      })
    );
    const ticks = axes.flatMap(({ ticks }, x) =>
      ticks.map((tick) => ({
        ...{ ...tick, x, said: shorten(tick.text, x === axes.length - 1 ? 52 : each - 10, 10) },
      }))
    );
    const heads = axes.map(({ name }, x) => ({ x, said: shorten(name, room, 11), name }));
    const z = "trial";
    const lined = (front: boolean) => points.filter((one) => one.front === front);
    const ends = points.filter(({ x }) => x === 0 || x === axes.length - 1);
    return {
      height: 320,
      marginLeft: 16,
      marginRight: 58,
      marginTop: 46,
      marginBottom: 16,
      x: { domain: [0, Math.max(1, axes.length - 1)], axis: null },
      y: { domain: [0, 1], axis: null },
      marks: [
        Plot.ruleX(heads, { x: "x", stroke: RULE }),
        Plot.line(lined(false), { x: "x", y: "y", z, stroke: "colour", strokeOpacity: 0.45 }),
        Plot.line(lined(true), { x: "x", y: "y", z, stroke: "colour", strokeWidth: 2.5 }),
        Plot.dot(ends, { x: "x", y: "y", symbol: "shape", fill: "colour", r: 4 }),
        Plot.text(ticks, {
          ...{ x: "x", y: "at", dx: 6, textAnchor: "start", fontSize: 10, fill: INK },
          ...{ text: "said", title: "text", stroke: PAPER, strokeWidth: 3 },
        }),
        ...[0, 1].map((turn) =>
          Plot.text(heads.filter(({ x }) => x % 2 === turn), {
            ...{ x: "x", frameAnchor: "top", text: "said", title: "name", fontSize: 11, fill: INK },
            ...{ dy: each < 110 && turn === 0 ? -32 : -16, dx: -8, textAnchor: "start" },
          })
        ),
      ],
    };
  };
}

/**
 * Recipes as lines over their knobs and what came of them; thick lines are on the front. An axis is drawn
 * for each knob that has two values or more.
 */
export function recipes(rows: readonly object[], options?: RecipesOptions): string {
  const settled = readOptions("recipes", Options, options);
  const outcomes = (settled.outcomes ?? OUTCOMES)
    .filter((name) => rows.some((row) => numeric((row as Record<string, unknown>)[name]) !== null));
  const more = Object.fromEntries(outcomes.map((name) => [name, numeric]));
  const all = readRows(rows, { ...COLUMNS, optional: { ...COLUMNS.optional, ...more } });
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const lines = [...Map.groupBy(all, ({ trial_id }) => trial_id)].map(([id, found]): Line => {
    const ends = outcomes.flatMap((one) => {
      const value = (found[0] as Record<string, unknown>)[one] as number | null;
      return value === null ? [] : [[one, value] as const];
    });
    const knobs = found.map((
      { method, knob, knob_value },
    ) => [`${method} ${knob}`, knob_value ?? "–"]);
    const methods = found[0]!.methods ??
      [...new Set(found.map(({ method }) => method))].join(" + ");
    const values = { [METHODS]: methods, ...Object.fromEntries([...knobs, ...ends]) };
    return { trial: name(id), methods, front: found[0]!.on_front === true, values };
  });
  const byKnob = [...Map.groupBy(all, ({ method, knob }) => `${method} ${knob}`)].flatMap(
    ([key, found]) => {
      const used = lines.filter(({ values }) => key in values).length;
      const several = new Set(found.map(({ knob_value }) => knob_value)).size > 1;
      const values = found.map((one) => ({
        value: one.knob_value ?? "–",
        number: one.knob_number,
      }));
      // A knob of one value says no more than the method does, and that stands on the first axis.
      return several ? [{ key, axis: knobAxis(key, values, used === lines.length) }] : [];
    },
  );
  const narrow = Math.max(3, Math.floor(settled.width / 70));
  const knobs = byKnob.slice(0, Math.max(0, Math.min(MOST_AXES, narrow) - outcomes.length - 1));
  const ends = outcomes.map((key) => ({
    key,
    axis: outcomeAxis(
      key,
      lines.flatMap(({ values }) => typeof values[key] === "number" ? values[key] : []),
    ),
  }));
  const chains = lines.map(({ methods }) => ({ value: methods, number: null }));
  const axes = [{ key: METHODS, axis: knobAxis("methods", chains, true) }, ...knobs, ...ends];
  const shown = [...lines.filter(({ front }) => front), ...lines.filter(({ front }) => !front)]
    .slice(0, MOST_LINES);
  const drawn = axes.length > 1 && shown.length > 0;
  const signs = signsOf(shown.map(({ methods }) => methods));
  return drawFigure({
    title: "Recipes and what came of them",
    description: drawn
      ? `${counted(lines.length, "recipe")} over ${axes.length} axes, ` +
        `${lines.filter(({ front }) => front).length} on the front.`
      : "Nothing is drawn: no two recipes differ in a knob yet. More trials fill it; " +
        `${COLUMNS.sql} gives the rows.`,
    legend: drawn
      ? [
        ...[...signs].slice(0, 12).map(([text, { colour, shape }]) => ({ text, colour, shape })),
        ...shown.some(({ front }) => front)
          ? [{ text: "thick: on the front", shape: "line" } as const]
          : [],
      ]
      : [],
    notes: drawn
      ? [
        ...knobs.length < byKnob.length
          ? [
            `Drawn are ${knobs.length} of ${byKnob.length} knobs that differ.`,
          ]
          : [],
        ...shown.length < lines.length
          ? [`Drawn are ${shown.length} of ${lines.length} recipes.`]
          : [],
      ]
      : [],
    panels: drawn ? [panelOf(axes.map(({ axis }) => axis), shown, axes.map(({ key }) => key))] : [],
  }, settled);
}
