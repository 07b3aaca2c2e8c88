import assert from "node:assert/strict";
import { join } from "node:path";
import { type JournalRecord, type Strategy, trialName } from "../../../core/mod.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { plotOf, writeOutputs } from "../../../tracker/show/reports_of_study.ts";
import { comparisonBlocks } from "../../../tracker/show/reports/comparison_blocks.ts";
import { parseHTML } from "linkedom";
import type { FrontData } from "../../../tracker/show/pages/front_data.ts";
import { dataElement, scriptHash } from "../../../tracker/show/pages/page.ts";
import { escapeHtml } from "../../../tracker/show/pages/client/table.js";
import { renderHtml } from "../../../tracker/show/reports/render_html.ts";
import { trialTable } from "../../../tracker/show/terminal/trial_table.ts";
import { svgToPng } from "../../../tracker/show/plots/svg_to_png.ts";
import type { StudyView } from "../../../tracker/show/view/study_view.ts";
import { recipeText } from "../../../tracker/show/view/trial_rows.ts";
import { run, samplesIn, world } from "../../core/study_world.ts";

async function viewOf(
  asked: Parameters<typeof world>[0] = {},
  more: (study_id: string) => JournalRecord[] = () => [],
) {
  const w = world(asked);
  const result = await run(w);
  const records = [...w.records, ...more(result.study_id)];
  const view = await buildView(result.study_id, records, samplesIn(w));
  return { view, result };
}

Deno.test("buildView() tells of a study what the loop itself told", async () => {
  const { view, result } = await viewOf();
  assert.deepEqual(view.front, result.front);
  assert.equal(view.hypervolume, result.hypervolume);
  assert.deepEqual(view.reasons, result.recommendation?.reasons);
  assert.equal(view.rows.length, result.trials.length);
  for (const row of view.rows.filter((one) => one.front_probability !== null)) {
    assert.equal(row.front_probability, result.front_probability[row.trial_id]);
  }
});

Deno.test("every trial measured in full is compared with the baseline, task by task", async () => {
  const { view } = await viewOf();
  const full = view.trials.filter((t) => t.state === "completed" && t.fidelity === "full");
  const compared = full.filter((t) => t.strategy !== null);
  assert.ok(compared.length > 0);
  assert.deepEqual([...view.comparisons.keys()].sort(), compared.map((t) => t.trial_id).sort());
  const accuracy = (t: typeof full[number] | undefined, task: string) =>
    t?.measurements.findLast((m) =>
      m.task === task && m.metric === "accuracy" && m.fidelity === "full"
    )?.value;
  const baseline = full.find((t) => t.strategy === null);
  for (const trial of compared) {
    const found = view.comparisons.get(trial.trial_id)!.find((one) => one.metric === "accuracy")!;
    const expected = accuracy(trial, found.task)! - accuracy(baseline, found.task)!;
    assert.ok(Math.abs(found.difference - expected) < 1e-9, trial.trial_id);
    assert.ok(found.p_adjusted >= found.p_value);
  }
  const { blocks, lines } = tableOf(view);
  assert.equal(blocks, 1);
  assert.equal(lines, [...view.comparisons.values()].flat().length);
});

/** How many tables compare with the baseline, and their rows. */
function tableOf(view: StudyView) {
  const tables = comparisonBlocks(view).filter((block) => block.block === "table");
  return { blocks: tables.length, lines: tables.reduce((sum, { rows }) => sum + rows.length, 0) };
}

Deno.test("the plot marks every drawn trial once in each panel", async () => {
  const { view } = await viewOf();
  const svg = plotOf(view);
  for (const row of view.rows.filter((one) => one.accuracy !== null && one.latency_ms !== null)) {
    const label = row.baseline ? "baseline" : trialName(row.number);
    const drawn = svg.match(new RegExp(`>${label}</text>`, "g")) ?? [];
    // The legend explains the baseline's sign once more.
    assert.equal(drawn.length, row.baseline ? 3 : 2, label);
  }
  assert.doesNotMatch(svg, /NaN|undefined|null/);
});

Deno.test("the plot draws the paired difference to the baseline, and which way is better", async () => {
  const { view } = await viewOf();
  const text = plotOf(view).replaceAll(/<[^>]+>/g, "\n");
  assert.match(text, /↑ better: accuracy less the baseline.{1,6}s/);
  assert.match(text, /← better: latency, × the baseline.{1,6}s/);
  assert.match(text, /← better: size on disk \(MB\)/);
  assert.match(text, /Bars are 95 % intervals; differences are paired/);
  assert.match(
    text,
    /; original in swift; 400 samples/,
    "the runtime of the baseline that latency is over",
  );
  const of = (id: string) => view.rows.find(({ trial_id }) => trial_id === id)!;
  const [baseline] = view.rows;
  for (const trial of view.trials.filter(({ strategy }) => strategy !== null)) {
    const { difference, accuracy } = of(trial.trial_id);
    if (trial.fidelity !== "full") {
      assert.equal(difference?.interval ?? null, null, "no interval of a rung below the last");
      continue;
    }
    const { value, interval } = difference!;
    assert.ok(Math.abs(value - (accuracy!.value - baseline!.accuracy!.value)) < 1e-9);
    assert.ok(interval![0] <= value && value <= interval![1], trial.trial_id);
    // On the same samples: far narrower than of two scores by themselves.
    assert.ok(interval![1] - interval![0] < 2 * 1.96 * Math.sqrt(2) * 0.0245, trial.trial_id);
  }
});

Deno.test("svgToPng() draws with the fonts that ship", async () => {
  const { view } = await viewOf({ max_trials: 2 });
  const png = svgToPng(plotOf(view), 600);
  assert.deepEqual([...png.slice(1, 4)], [...new TextEncoder().encode("PNG")]);
  // Without glyphs the picture of the same size is a fifth smaller: text was drawn.
  const wordless = svgToPng(plotOf(view).replaceAll(/<text[^>]*>[^<]*<\/text>/g, ""), 600);
  assert.ok(png.length > wordless.length * 1.2, `${png.length} against ${wordless.length}`);
});

Deno.test("the report names every trial, its verdicts and how to run it again", async () => {
  const { view } = await viewOf();
  const folder = await Deno.makeTempDir();
  try {
    const files = await writeOutputs(view, folder);
    const markdown = await Deno.readTextFile(files.markdown);
    for (const row of view.rows) assert.ok(markdown.includes(row.recipe), row.recipe);
    for (const reason of view.reasons) assert.ok(markdown.includes(reason), reason);
    for (const { constraint } of view.trials.flatMap((t) => t.constraints)) {
      assert.ok(markdown.includes(constraint), constraint);
    }
    assert.ok(markdown.includes(view.provenance.command));
    const html = await Deno.readTextFile(files.html);
    assert.doesNotMatch(html, /src="|href="(?!#)|@import|url\(/, "the page needs nothing else");
    checkPage(html);
    const results = JSON.parse(await Deno.readTextFile(join(folder, "results.json")));
    assert.equal(results.length, view.trials.length);
    assert.equal(results[0].vector.humaneval_pass_rate, null, "not measured is null");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Whoever reads a report's page finds every part by a link, and no script but the page's own runs. */
function checkPage(html: string): void {
  const { document } = parseHTML(html);
  const links = [...document.querySelectorAll("nav a")].map((one) => one.getAttribute("href")!);
  assert.ok(links.length > 8, links.join());
  for (const link of links) assert.ok(document.getElementById(link.slice(1)), link);
  const headings = [...document.querySelectorAll("h2")].map((one) => one.textContent);
  assert.ok(headings.length <= 10, headings.join());
  // The answer stands before the contents; all else after them, a part at a time.
  const parts = [...document.querySelectorAll("h2, nav strong, h3, summary")]
    .map((one) => one.textContent.replace(/ \(\d+\)$/, ""));
  const asked = ["The answer", "Contents", "What was asked", "The front", "The front, one by one"];
  const shown = ["Trials", "Against the baseline", "How it was decided", "Constraints"];
  const after = ["How it was measured", "Model and machine", "Time", "Limits", "Run it again"];
  const order = [...asked, ...shown, ...after, "How to cite"].map((one) => parts.indexOf(one));
  assert.deepEqual(order, order.toSorted((a, b) => a - b), parts.join());
  assert.ok(!order.includes(-1), parts.join());
  assert.match(document.querySelector("main > p ~ h2 + p")?.textContent ?? "", /recommended/i);
  const scripts = [...html.matchAll(/<script type="module">([\s\S]*?)<\/script>/g)];
  assert.equal(scripts.length, 1);
  assert.ok(html.includes(`script-src ${scriptHash(scripts[0]![1]!)};`), "its hash alone");
  const data = JSON.parse(document.getElementById("pare-front")!.textContent) as FrontData;
  const ids = data.trials.map(({ trial_id }) => trial_id);
  const rows = [...document.querySelectorAll("tr[data-trial]")];
  assert.deepEqual(
    [...new Set(rows.map((one) => one.getAttribute("data-trial")!))].sort(),
    ids.toSorted(),
  );
  for (const title of document.querySelectorAll("[data-pare-figure] g title")) {
    assert.ok(ids.includes(title.textContent.split("\n")[0]!), title.textContent);
  }
}

Deno.test("the report shows what was noted of the study and its trials, each note once", async () => {
  const at = "2026-01-01T00:00:00Z";
  const { view } = await viewOf({ max_trials: 2 }, (study_id) => {
    const of_trial = { at, study_id, trial_id: `${study_id}/t01` };
    return [
      { type: "note", ...of_trial, note_id: "1", text: "load it with <care>" },
      { type: "note", at, study_id, trial_id: null, note_id: "2", text: "a second try" },
      { type: "note", ...of_trial, note_id: "1", text: "load it with <care>" },
      {
        ...{ type: "note", at, study_id, trial_id: `${study_id}/t02` },
        ...{ note_id: "3", text: "load it with <care>" },
      },
    ];
  });
  const folder = await Deno.makeTempDir();
  try {
    const files = await writeOutputs(view, folder);
    const markdown = await Deno.readTextFile(files.markdown);
    assert.equal(markdown.split("load it with \\<care>").length, 2, "once");
    assert.match(
      markdown,
      /## Notes\n\n- t01, t02: load it with \\<care>\n- the study: a second try\n/,
    );
    assert.match(await Deno.readTextFile(files.html), /t01, t02: load it with &lt;care&gt;/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("trialTable() has a line per trial and marks the recommended one", async () => {
  const { view } = await viewOf();
  const lines = trialTable(view).split("\n");
  assert.equal(lines.length, view.rows.length + 2);
  assert.equal(lines.filter((line) => line.includes("recommended")).length, 1);
});

Deno.test("tables say parameters only where trials are of models of different sizes", async () => {
  const { view } = await viewOf();
  const sized = (parameters: (number: number) => number | null) => ({
    ...view,
    rows: view.rows.map((row) => ({ ...row, parameters: parameters(row.number) })),
  });
  const told = async (shown: StudyView) => {
    const folder = await Deno.makeTempDir();
    try {
      const { markdown } = await writeOutputs(shown, folder);
      return [trialTable({ ...shown, recommended: null }), await Deno.readTextFile(markdown)];
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  };
  for (const same of [() => null, () => 135e6]) {
    for (const text of await told(sized(same))) assert.doesNotMatch(text, /parameters +[|\s]/);
  }
  for (const text of await told(sized((n) => n === 1 ? 97.4e6 : n === 2 ? null : 134.5e6))) {
    assert.match(text, /parameters/);
    assert.match(text, /97\.4 M/);
    assert.match(text, /134\.5 M/);
  }
});

Deno.test("renderHtml() takes no text for markup", () => {
  const page = renderHtml("<x>", [{ block: "paragraph", text: "<img onerror=alert(1)> `a<b`" }]);
  assert.ok(page.includes("&lt;img onerror=alert(1)&gt; <code>a&lt;b</code>"));
  assert.ok(page.includes("<title>&lt;x&gt;</title>"));
  assert.equal(escapeHtml('"&'), "&quot;&amp;");
  const data = dataElement("x", { name: "</script><script>alert(1)</script>" });
  assert.equal(data.match(/<\/?script/g)!.length, 2, "its own alone");
});

Deno.test("recipeText() says a recipe in the field's terms", () => {
  const resolved = { agent: "quantization", resolved: [] };
  const strategy: Strategy = {
    strategy_id: "s01-gptq",
    actions: [{ agent: "quantization", method: "gptq", params: { bits: 4 } }],
    origin: { sampler: "user", mode: "user", reason: "given" },
  };
  assert.equal(
    recipeText({
      strategy,
      actions: [
        { ...resolved, method: "gptq", params: { bits: 4 }, label: ["4-bit", "g64"] },
        { ...resolved, method: "rtn", params: { bits: 8 }, label: ["embedding", "8-bit"] },
      ],
    }),
    "gptq 4-bit g64 + rtn embedding 8-bit",
  );
  // Records from before labels tell the knobs that somebody set.
  const knob = { knob: "bits", value: 4, by: "sampler" as const, reason: null };
  const usual = { knob: "group_size", value: 64, by: "default" as const, reason: null };
  const old = {
    agent: "quantization",
    method: "gptq",
    params: { bits: 4, group_size: 64 },
    resolved: [knob, usual],
  };
  assert.equal(recipeText({ strategy, actions: [old] }), "gptq bits 4");
  assert.equal(recipeText({ strategy: null, actions: [] }), "baseline");
  assert.equal(recipeText({ strategy, actions: [] }), "gptq", "its process ended under it");
});
