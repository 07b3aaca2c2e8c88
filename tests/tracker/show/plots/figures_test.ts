/** Every figure as a stored picture, and what none of them may do: throw, clip, lean on colour. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { figures, figureText } from "../../../../tracker/show/plots/figures.ts";
import { change, COLOURS, signsOf } from "../../../../tracker/show/plots/ground/colours.ts";
import { thinned } from "../../../../tracker/show/plots/ground/thin.ts";
import { textWidth, wrap } from "../../../../tracker/show/plots/ground/words.ts";
import { ROWS } from "./figure_rows.ts";

type Name = keyof typeof figures;
const NAMES = Object.keys(figures) as Name[];
const draw = (name: Name, rows: readonly object[], options: object = {}) =>
  (figures[name] as (rows: readonly object[], options: object) => string)(rows, options);

for (const name of NAMES) {
  Deno.test(`the figure ${name} is the stored picture`, async () => {
    const [rows, options] = ROWS[name];
    const svg = draw(name, rows, options) + "\n";
    const file = fileURLToPath(new URL(`${name}.svg`, import.meta.url));
    if (Deno.env.get("PARE_DRAW_FIGURES") === "1") await writeFile(file, svg);
    const stored = existsSync(file) ? await readFile(file, "utf8") : "";
    assert.ok(
      svg === stored,
      `${name} is not what tests/tracker/show/plots/${name}.svg holds. Look at the new picture: ` +
        "PARE_DRAW_FIGURES=1 deno test --allow-all tests/tracker/show/plots writes it.",
    );
    assert.doesNotMatch(svg, /NaN|undefined|Infinity|\[object/);
    assert.match(svg, /^<svg [^>]*role="img"/);
  });
}

Deno.test("a figure without rows says why and what would fill it; numbers that are none are no error", () => {
  for (const name of NAMES) {
    const empty = figureText(draw(name, []));
    assert.match(empty, /Nothing is drawn: .*(SELECT|study)/, name);
    const [rows, options] = ROWS[name];
    const one = draw(name, rows.slice(0, 1), options);
    const nulls = rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map((
          [column, value],
          i,
        ) => [column, typeof value === "number" ? [NaN, null, Infinity, -1, 0][i % 5] : value]),
      )
    );
    const tied = rows.map(() => rows.at(-1)!);
    for (const svg of [one, draw(name, nulls, options), draw(name, tied, options)]) {
      assert.doesNotMatch(svg.replace(/<desc>.*?<\/desc>/, ""), /NaN|undefined|Infinity/, name);
    }
  }
});

Deno.test("a missing column, an unknown option and a wrong width are a sentence", () => {
  for (const name of NAMES) {
    assert.throws(() => draw(name, [{ something: 1 }]), /^UsageError: .*no column .*SELECT/, name);
  }
  assert.throws(() => draw("retention", [], { thme: "dark" }), /"thme".*Did you mean "theme"/);
  assert.throws(
    () => draw("retention", [], { width: 200 }),
    /Cannot draw retention with width 200/,
  );
});

/** Texts of a picture that reach over its edges, were they as wide as DejaVu Sans. */
function clipped(svg: string, width: number): string[] {
  return [...svg.matchAll(/<text ([^>]*)>([^<]*)<\/text>/g)].flatMap(([, attributes, text]) => {
    const x = /^x="([\d.]+)"| x="([\d.]+)"/.exec(attributes!);
    const size = Number(/font-size="(\d+)"/.exec(attributes!)?.[1] ?? 11);
    if (x === null || attributes!.includes("transform")) return [];
    return Number(x[1] ?? x[2]) + textWidth(text!, size) > width ? [text!] : [];
  });
}

Deno.test("from 390 to 1600 pixels, light and dark, no text is under 10 px or over the edge", () => {
  for (const name of NAMES) {
    const [rows, options] = ROWS[name];
    for (const width of [390, 800, 1600]) {
      const svg = draw(name, rows, { ...options, width, theme: width === 800 ? "dark" : "light" });
      const sizes = [...svg.matchAll(/font-size[=:]"?(\d+)/g)].map(([, size]) => Number(size));
      assert.ok(Math.min(...sizes) >= 10, `${name} at ${width}: ${sizes}`);
      assert.deepEqual(clipped(svg, width), [], `${name} at ${width}`);
      assert.doesNotMatch(svg, /var\(--pare/, "a figure of one theme names its colours");
    }
  }
});

/** Relative luminance by WCAG 2. */
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

Deno.test("every mark has a contrast of 3 : 1, every text of 4.5 : 1, and steps of grey differ", () => {
  for (const theme of [0, 1] as const) {
    const of = (name: string) => COLOURS[name]![theme];
    for (const name of Object.keys(COLOURS).filter((one) => one.startsWith("hue"))) {
      assert.ok(
        contrast(of(name), of("paper")) >= 3,
        `${name}: ${contrast(of(name), of("paper"))}`,
      );
    }
    for (const name of ["ink", "quiet", "alarm"]) {
      assert.ok(contrast(of(name), of("paper")) >= 4.5, name);
    }
    for (
      const scale of [["heat0", "heat1", "heat2", "heat3", "heat4", "heat5", "heat6"], [
        "heat0",
        "loss1",
        "loss2",
        "loss3",
        "loss4",
        "loss5",
      ]]
    ) {
      const greys = scale.map((name) => luminance(of(name)));
      const way = theme === 0 ? -1 : 1;
      assert.ok(greys.every((one, i) => i === 0 || (one - greys[i - 1]!) * way > 0), scale.join());
    }
    for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1, -0.2, -0.4, -0.6, -0.8, -1]) {
      const { fill, ink } = change(share);
      const [ground, text] = [fill, ink].map((one) => of(/--pare-(\w+)/.exec(one)![1]!));
      assert.ok(contrast(ground!, text!) >= 4.5, `${share}: ${contrast(ground!, text!)}`);
    }
  }
});

Deno.test("a sign is a colour and a shape: of 56 names no two are alike", () => {
  const signs = [...signsOf(Array.from({ length: 56 }, (_, i) => `method ${i}`)).values()];
  const shapes = [...new Set(signs.map(({ shape }) => shape))];
  assert.equal(new Set(signs.map((one) => `${one.colour} ${shapes.indexOf(one.shape)}`)).size, 56);
});

Deno.test("10,000 rows are drawn as fewer marks, and the figure says so", () => {
  const [trials] = ROWS.pareto;
  const many = Array.from({ length: 10_000 }, (_, i) => ({
    ...trials[1 + i % 5],
    ...{ trial_id: `words/t${i}`, on_front: i < 20, violated: null, recommended: i === 3 },
    ...{ accuracy_difference: -(i * 37 % 1000) / 5000, latency_ratio: 0.3 + i * 17 % 997 / 1500 },
  }));
  const svg = draw("pareto", many);
  assert.match(svg, /9,980 trials off the front are drawn as hollow bins/);
  assert.ok(svg.length < 1e6, `${svg.length} characters`);
  const points = Array.from({ length: 10_000 }, (_, i) => ({ value: i === 5003 ? 99 : i % 7 }));
  const kept = thinned(points, 500, ({ value }) => value);
  assert.ok(kept.length < 520 && kept.some(({ value }) => value === 99), "a peak is kept");
});

Deno.test("a time that is emulated is drawn hollow and said, and is not the nearest to a roofline", () => {
  const row = (provenance: string, i: number) => ({
    ...{ trial_id: `words/t0${i}`, latency_ms: 5 + i, roofline_ms: 4, provenance },
  });
  const drawn = draw("roofline", [row("emulated", 0), row("measured", 1)]);
  const some = figureText(drawn);
  assert.match(some, /2 trials, the time of 1 emulated; nearest to its roofline is t01 with 1.5/);
  assert.match(drawn, /5\.0+ ms, 1\.3 ×, emulated/);
  assert.match(drawn, /that time ranks nothing/);
  const none = draw("roofline", [row("measured", 0), row("measured", 1)]);
  assert.doesNotMatch(none, /emulated|Emulated/);
  const all = figureText(draw("roofline", [row("emulated", 0)]));
  assert.match(all, /one trial, the time of 1 emulated\./);
  assert.doesNotMatch(all, /nearest/);
});

Deno.test("words that are longer than a line are cut into lines that fit", () => {
  for (const line of wrap(`a ${"x".repeat(90)} b`, 100, 12)) {
    assert.ok(textWidth(line, 12) <= 100, line);
  }
});

Deno.test("on a figure of one point no tick is longer than its margin", () => {
  const svg = figures.pareto([{
    ...{ study_id: "s", trial_id: "s/t00", trial: "t00", number: 0, methods: "baseline" },
    ...{ recipe: "baseline", state: "completed", fidelity: "full", is_baseline: true },
    ...{ on_front: true, accuracy: 0.995, size_bytes: 200_000, latency_ms: 0.44, latency_ratio: 1 },
  }]);
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!);
  const ticks = texts.filter((text) => /^[\d.]+$/.test(text));
  assert.ok(ticks.length >= 8, ticks.join(" "));
  assert.deepEqual(ticks.filter((tick) => tick.length > 5), [], "six decimals are cut off");
});

Deno.test("a trial that was asked part of the samples has no bar of its quality, and the figure says so", () => {
  const row = (number: number, fidelity: string, half: number | null) => ({
    ...{ trial_id: `words/t0${number}`, state: "completed", methods: "int8", fidelity },
    ...{ on_front: number === 1, accuracy: 0.6, latency_ratio: 0.5 },
    accuracy_difference: -0.01 * number,
    accuracy_difference_low: half === null ? null : -0.01 * number - half,
    accuracy_difference_high: half === null ? null : half - 0.01 * number,
  });
  const told = (svg: string) =>
    [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, one]) => one).join(" ");
  const words = /Asked part of the samples alone, so that quality has no bar: t02\./;
  assert.match(told(figures.pareto([row(1, "full", 0.02), row(2, "proxy", null)])), words);
  const others = [row(1, "full", 0.02), row(2, "proxy", 0.03)];
  assert.doesNotMatch(told(figures.pareto(others)), /Asked part/);
});
