/** A report as a page: what heads its tables, where its links lead, and what its sentences say. */
import assert from "node:assert/strict";
import { parseHTML } from "linkedom";
import { limitWords, METRICS, metricWords } from "../../../../core/mod.ts";
import { frontData } from "../../../../tracker/show/pages/front_data.ts";
import { table } from "../../../../tracker/show/reports/blocks.ts";
import { renderHtml } from "../../../../tracker/show/reports/render_html.ts";
import { reportBlocks } from "../../../../tracker/show/reports_of_study.ts";
import { buildView } from "../../../../tracker/show/view/build_view.ts";
import { run, samplesIn, world } from "../../../core/study_world.ts";

const w = world({ max_trials: 3 });
const { study_id } = await run(w);
const view = await buildView(study_id, w.records, samplesIn(w));
const { document } = parseHTML(renderHtml(study_id, reportBlocks(view), frontData(view)));

Deno.test("every heading of a table says what it heads, and every link of a report leads somewhere", () => {
  const heads = [...document.querySelectorAll("th")];
  assert.ok(heads.length > 40, `${heads.length} headings`);
  for (const head of heads) {
    const wanted = head.closest("thead") === null ? "row" : "col";
    assert.equal(head.getAttribute("scope"), wanted, head.outerHTML);
  }
  const rows = [...document.querySelectorAll("tbody tr[data-trial]")];
  assert.ok(rows.some((row) => row.querySelector('th[scope="row"]')?.textContent === "t01"));
  const links = [...document.querySelectorAll("a")].map((one) => one.getAttribute("href")!);
  const parts = [...document.querySelectorAll("h2")];
  assert.deepEqual(
    links.filter((href) => href.startsWith("#")),
    parts.map(({ id }) => `#${id}`),
    "contents have every part, in order",
  );
  assert.equal(new Set(parts.map(({ id }) => id)).size, parts.length);
});

Deno.test("a table of more than 25 rows is folded, whichever it is", () => {
  const of = (count: number) => {
    const rows = Array.from({ length: count }, (_, at) => [`t${at}`, "1"]);
    return parseHTML(renderHtml("x", [table(["trial", "n"], rows)])).document;
  };
  assert.equal(of(25).querySelector("details"), null);
  const [fold] = of(26).querySelectorAll("details");
  assert.equal(fold!.querySelector("summary")!.textContent, "26 rows, folded");
  assert.equal(fold!.querySelectorAll("tbody tr").length, 26);
});

Deno.test("no sentence of a report names a column or a field", () => {
  const columns = METRICS.map(({ name }) => name).filter((name) => name.includes("_"));
  const names = new RegExp(`\\b(baseline_|max_)?(${columns.join("|")}|max_\\w+)\\b`);
  assert.match("Its latency_ms is 3", names);
  const said = [...document.querySelectorAll("p, li, figcaption, dd, summary, td, th")]
    .map((one) => one.cloneNode(true) as Element)
    .map((one) => {
      for (const code of [...one.querySelectorAll("code, pre, script")]) code.remove();
      return one.textContent;
    });
  // What was assumed is told by the fields of the request, which a reader may set.
  const assumed = new Set(view.spec.assumptions.flatMap(({ field, value }) => [field, `${value}`]));
  const found = said.filter((text) => names.test(text) && !assumed.has(text.trim()));
  assert.deepEqual(found, []);
  assert.ok(said.some((text) => /^Its latency is [\d.]+ ms\/token against [\d.]+ ms/.test(text)));
  assert.ok(said.some((text) => /^Its size on disk is .* MB against /.test(text)));
  assert.ok(said.some((text) => text.startsWith("The limit on accuracy drop is ")));
});

Deno.test("what a figure is called comes from the tables of metrics", () => {
  assert.equal(metricWords("latency_ms"), "latency");
  assert.equal(metricWords("baseline_energy_j_per_1k_tokens"), "the baseline's energy");
  assert.equal(metricWords("energy_ratio"), "energy over the baseline's");
  assert.equal(metricWords("kl_p99"), "KL, 99th percentile");
  assert.equal(metricWords("somebodys_own"), "somebodys own");
  assert.equal(limitWords("max_size_gb"), "size on disk");
  assert.equal(limitWords("max_own_thing"), "own thing");
});
