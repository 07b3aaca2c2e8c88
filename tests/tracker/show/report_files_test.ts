/** The files that a report leaves beside its page, for other programs and hubs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { licenseOf } from "../../../tracker/artifacts/model_license.ts";
import { parseHTML } from "linkedom";
import { type FrontData, frontData } from "../../../tracker/show/pages/front_data.ts";
import { reportBlocks, writeOutputs } from "../../../tracker/show/reports_of_study.ts";
import { renderHtml } from "../../../tracker/show/reports/render_html.ts";
import { latexTables } from "../../../tracker/show/reports/formats/latex_tables.ts";
import { modelCard } from "../../../tracker/show/reports/formats/model_card.ts";
import { bibtex, escapeTex, timeBlocks } from "../../../tracker/show/reports/limit_blocks.ts";
import { documentOf, runAgainBlocks } from "../../../tracker/show/reports/provenance_blocks.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { StudyRequest } from "../../../core/mod.ts";
import { run, samplesIn, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const w = world({ max_trials: 3 });
const { study_id } = await run(w);
const view = await buildView(study_id, w.records, samplesIn(w));

interface Entity {
  readonly "@id": string;
  readonly [property: string]: unknown;
}

/** Braces in pairs, nothing of LaTeX's own unescaped in a cell. */
function checkTex(text: string): void {
  const bare = text.replaceAll(/\\[{}\\]/g, "");
  assert.equal(bare.split("{").length, bare.split("}").length, "braces");
  for (const line of bare.split("\n")) assert.doesNotMatch(line, /(?<!\\)[#%](?! \\usepackage)/);
}

Deno.test("a report's folder has every file that its crate lists, with its bytes and hash", () =>
  inDirectory(async (folder) => {
    const author = 'O\'Neil & "Söns" <x>';
    await Deno.writeTextFile(join(folder, "model_card.md"), "of an earlier run");
    const { files } = await writeOutputs({ ...view, recommended: null }, folder, { author });
    const there = [...Deno.readDirSync(folder)].map(({ name }) => join(folder, name));
    assert.deepEqual(files.toSorted(), there.sort(), "no card where nothing is recommended");
    const crate = JSON.parse(await Deno.readTextFile(join(folder, "ro-crate-metadata.json")));
    const graph = crate["@graph"] as Entity[];
    const ids = new Set(graph.map((one) => one["@id"]));
    assert.equal(ids.size, graph.length, "each once");
    const refers = (value: unknown): string[] =>
      typeof value !== "object" || value === null
        ? []
        : Object.entries(value).flatMap(([key, one]) =>
          key === "@id" ? [String(one)] : refers(one)
        );
    for (const id of graph.flatMap(refers)) {
      assert.ok(ids.has(id) || id.startsWith("https://w3id.org/ro/crate/"), id);
    }
    const root = graph.find((one) => one["@id"] === "./")!;
    for (const field of ["name", "description", "datePublished", "hasPart", "author"]) {
      assert.ok(root[field], field);
    }
    const listed = graph.filter((one) => one["@type"] === "File");
    assert.equal(listed.length, files.length - 1, "all but the crate itself");
    for (const one of listed) {
      const bytes = await Deno.readFile(join(folder, one["@id"]));
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
      assert.equal(one["sha256"], digest.toHex(), one["@id"]);
      assert.equal(one["contentSize"], String(bytes.length));
    }
    assert.equal(graph.find((one) => one["@id"] === "#author")!["name"], author);
  }));

Deno.test("the study's document asks for the same study again, from a notebook, too", () => {
  const asked = StudyRequest.parse(JSON.parse(documentOf(view)));
  assert.deepEqual(asked, view.request);
  const kept = { ...view, request: { ...view.request, rules: [], earlier_studies: false } };
  assert.deepEqual(StudyRequest.parse(JSON.parse(documentOf(kept))), kept.request);
  const provenance = { ...view.provenance, command: "notebook" };
  const text = renderMarkdown(runAgainBlocks({ ...view, provenance }));
  assert.match(text, /pare run study\.json/);
  assert.ok(text.includes(documentOf(view)));
});

Deno.test("LaTeX: booktabs, a star where the paired interval does not hold 0, names escaped", () => {
  const [first, second, third] = view.rows.filter(({ baseline }) => !baseline);
  const at = (low: number, high: number) =>
    ({ metric: "accuracy", value: (low + high) / 2, interval: [low, high] }) as const;
  const rows = [
    view.rows.find(({ baseline }) => baseline)!,
    { ...first!, difference: at(-0.3, -0.1), recipe: "50% & \\input{x} #1 ~^_$" },
    { ...second!, difference: at(-0.1, 0.1) },
    { ...third!, difference: null },
  ];
  const text = latexTables({ ...view, rows, recommended: first!.trial_id });
  checkTex(text);
  const lines = text.split("\n").filter((line) => line.endsWith("\\\\")).slice(1);
  assert.deepEqual(lines.map((line) => line.includes("$^{*}$")), [false, true, false, false]);
  assert.match(lines[1]!, /^ +\\textbf\{t01\} & 50\\% \\& \\textbackslash\{\}input\\\{x\\\} \\#1/);
  const cells = lines.map((line) => line.split(/(?<!\\)&/).length);
  assert.equal(new Set(cells).size, 1, cells.join());
  assert.match(text, /\\toprule[\s\S]*\\midrule[\s\S]*\\bottomrule/);
  checkTex(escapeTex("100 % of {a}_b^c \\ × ± −"));
});

Deno.test("LaTeX: each table fits a page, in height and in width, and has no column without a figure", () => {
  const full = view.rows.filter(({ fidelity }) => fidelity === "full");
  const recipe = "gptq 4-bit g64 + rtn embedding 8-bit g64 + kv window";
  const rows = Array.from({ length: 60 }, (_, number) => ({
    ...full[number % full.length]!,
    number,
    ...(number % 3 === 0 ? { recipe } : {}),
  }));
  const pages = latexTables({ ...view, rows }).split("\\begin{table}").slice(1);
  const rowsOf = (page: string) => page.match(/^ +(\\textbf\{)?t\d\d.*\\\\$/gm) ?? [];
  assert.ok(pages.length > 1);
  for (const page of pages) {
    checkTex(page);
    const lines = rowsOf(page).map((row) => Math.ceil(row.split(" & ")[1]!.length / 24));
    assert.ok(lines.reduce((sum, one) => sum + one, 0) <= 40, "lines of text that a page holds");
    assert.match(page, /\\ifdim\\wd0>\\linewidth\\resizebox\{\\linewidth\}\{!\}/);
  }
  assert.equal(pages.flatMap(rowsOf).length, rows.length, "nothing is lost");
  const labels = pages.map((page) => /\\label\{(.*)\}/.exec(page)![1]);
  assert.equal(new Set(labels).size, pages.length);
  assert.match(pages[0]!, /& perplexity &/);
  const without = rows.map((row) => ({ ...row, perplexity: null, figures: {} }));
  const text = latexTables({ ...view, rows: without });
  assert.doesNotMatch(text, /perplexity/, "a column that no trial has");
});

Deno.test("the model card is of the recommended checkpoint, in the hub's format", () => {
  assert.equal(modelCard({ ...view, recommended: null }), null);
  const recommended =
    view.rows.find((row) => !row.baseline && view.comparisons.has(row.trial_id))!.trial_id;
  const facts = { ...view.facts, model: { ...view.facts.model, source: "hub" as const } };
  const card = modelCard({ ...view, facts, recommended }, {
    license: "apache-2.0",
    author: "A: B",
  })!;
  const front = parse(/^---\n([\s\S]*?)\n---\n/.exec(card)![1]!);
  assert.equal(front.base_model, facts.model.model_name);
  assert.equal(front.license, "apache-2.0");
  const [{ results }] = front["model-index"];
  const compared = view.comparisons.get(recommended)!;
  for (const { task, metric, score } of compared.filter(({ metric }) => metric === "accuracy")) {
    const found = results.find((one: { dataset: { type: string } }) => one.dataset.type === task);
    assert.equal(found.metrics[0].type, metric);
    assert.ok(Math.abs(found.metrics[0].value - score) < 1e-9, task);
  }
  assert.match(card, /\nConstraints of the study: accuracy drop at most 0\.02 \(absolute\)/);
  assert.match(card, /\n- Energy/, "told, if only that it was not measured");
  const local = modelCard({ ...view, recommended })!;
  assert.doesNotMatch(local, /base_model|^license:/m, "the hub knows no folder of this machine");
  assert.match(local, /License: not known/);
});

Deno.test("a licence is taken from a model's own card alone, and only a plain word", () =>
  inDirectory(async (folder) => {
    assert.equal(licenseOf(folder), null);
    const says = async (text: string) => {
      await Deno.writeTextFile(join(folder, "README.md"), text);
      return licenseOf(folder);
    };
    assert.equal(await says("---\nlicense: mit\ntags: [x]\n---\nText"), "mit");
    assert.equal(await says("---\nlicense: [a]\n---\n"), null);
    assert.equal(await says("---\nlicense: 'mit\\n---'\n---\n"), null);
    assert.equal(await says("---\n{ broken\n---\n"), null);
    assert.equal(await says("license: mit"), null);
  }));

Deno.test("the citation names who is named, and no phase of no time is told", () => {
  assert.match(bibtex(view, { author: "A & B" }), /author = \{A \\& B\}/);
  assert.doesNotMatch(bibtex(view, {}), /author/);
  const phases = [["evaluate", 60], ["spare", 0], ["load", 0.2], ["write", 0.1]] as const;
  const text = renderMarkdown(
    timeBlocks({ phases: phases.map(([name, seconds]) => ({ name, seconds })) }),
  );
  assert.match(text, /\| evaluate \| 1 min 00 s \|\n\| everything else \| 0\.3 s \|/);
  assert.doesNotMatch(text, /spare|0\.0/);
  assert.deepEqual(timeBlocks({ phases: [{ name: "spare", seconds: 0 }] }), []);
});

Deno.test("a name with markup is text in page, Markdown and data, and cannot be run", () => {
  const bad = `"><script>x</script><img src=x onerror=x>'**&`;
  const rows = view.rows.map((row) => ({ ...row, recipe: bad }));
  const { model, dataset } = view.facts;
  const facts = {
    ...view.facts,
    model: { ...model, model_name: bad, source: "checkpoint" as const },
    dataset: { ...dataset, dataset: bad },
  };
  const hostile = { ...view, rows, facts, message: bad, reasons: [bad] };
  const blocks = reportBlocks(hostile, { author: bad });
  const { document } = parseHTML(renderHtml(bad, blocks, frontData(hostile)));
  assert.equal(document.querySelectorAll("img, script:not([type])").length, 0);
  assert.equal(document.querySelectorAll("script").length, 2, "the page's own and its data");
  const data = JSON.parse(document.getElementById("pare-front")!.textContent) as FrontData;
  assert.equal(data.trials[1]!.recipe, bad);
  assert.doesNotMatch(renderMarkdown(blocks).replaceAll(/`[^`]*`/g, ""), /(?<!\\)<(script|img)/);
});

Deno.test("a study that just began, or has only failures, has a whole report that says so", async () => {
  const opened = w.records.filter(({ type }) => type === "study_opened");
  const empty = await buildView(study_id, opened, () => Promise.resolve(null));
  const crash = { kind: "crash", message: "it <b>broke</b>", hint: "none", phase: null } as const;
  const failing = world({ max_trials: 2 }, {
    disturb: ({ call }) => call === "apply" ? crash : null,
  });
  const { study_id: failed } = await run(failing);
  const broken = await buildView(failed, failing.records, () => Promise.resolve(null));
  for (const [study, said] of [[empty, /No answer yet/], [broken, /0 of them measured/]] as const) {
    const blocks = reportBlocks(study);
    assert.match(renderMarkdown(blocks), said);
    assert.doesNotMatch(renderMarkdown(blocks), /NaN|undefined/);
    assert.match(renderHtml("x", blocks, frontData(study)), /<h2 id="limits">/);
  }
  assert.match(renderMarkdown(reportBlocks(broken)), /\| failed \| it \\<b>broke/);
});
