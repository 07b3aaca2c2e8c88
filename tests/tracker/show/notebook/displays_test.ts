/** What a cell shows: tables that sort and round, figures that fit, and plain text beside each. */
import assert from "node:assert/strict";
import { UsageError } from "../../../../core/mod.ts";
import { fittingSvg, showFigure } from "../../../../tracker/show/notebook/figure.ts";
import { flatRow } from "../../../../tracker/show/notebook/flat_row.ts";
import { showPlot, showReport, showTable } from "../../../../tracker/show/notebook/show_study.ts";
import { frontOfView } from "../../../../tracker/show/notebook/trial_tables.ts";
import { groupSentences } from "../../../../tracker/show/view/group_words.ts";
import { mediaOf, worldSession } from "./world_session.ts";

const { session } = worldSession({ max_trials: 2 });
await session.run();
const view = await session.view();

Deno.test("a row's figures and intervals become plain columns", () => {
  const flat = flatRow({
    accuracy: { value: 0.5, standard_error: 0.1, n: 4 },
    difference: { value: -0.1, interval: [-0.2, 0] },
    none: null,
    n: 3n,
    names: ["a", "b"],
    figures: { a: { value: 1 } },
  });
  assert.deepEqual(flat, {
    accuracy: 0.5,
    accuracy_standard_error: 0.1,
    accuracy_n: 4,
    difference: -0.1,
    difference_low: -0.2,
    difference_high: 0,
    none: null,
    n: 3,
    names: "a, b",
    figures_a: 1,
  });
});

Deno.test("a table rounds, has its units in the headings, sorts, and escapes", async () => {
  const rows = [
    { name: "<script>alert(1)</script>", share: 0.1 + 0.2, size_bytes: 12_345_678, bad: NaN },
    { name: 'a"b\n', share: null, size_bytes: 5_000_000, nested: { value: 1, low: 0.5 } },
  ];
  const { "text/html": html, "text/plain": text } = await mediaOf(showTable(rows));
  assert.match(html!, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.doesNotMatch(html!, /<script>alert/);
  assert.match(html!, /<td style="text-align:left[^>]*>&lt;script/, "JupyterLab's own is right");
  assert.match(html!, /<th[^>]*>size_bytes \(MB\)<\/th>/);
  assert.match(html!, /data-key="12345678">12\.35<\/td>/);
  assert.match(html!, />0\.3000<\/td>/);
  assert.match(html!, /bringTables\(document\)/);
  assert.match(text!, /^name +share +size_bytes \(MB\) +bad +nested +nested_low/);
  assert.match(text!, /a"b /, "a line break does not break the row");
  const cells = html!.replaceAll(/<[^>]*>/g, " ");
  for (const shown of [cells, text!]) assert.doesNotMatch(shown, /\[object Object\]|0\.300000/);
});

Deno.test("rows of a view are a table without nested objects; no rows say so", async () => {
  const { "text/plain": text } = await mediaOf(showTable(view.rows));
  assert.doesNotMatch(text!, /\[object Object\]|\d\.\d{8}|figures/);
  assert.match(text!, /latency_ratio_low/);
  assert.equal((await mediaOf(showTable([])))["text/plain"], "No rows.");
  const odd = await mediaOf(showTable([1, null] as unknown as object[]));
  assert.match(odd["text/plain"]!, /value/);
  assert.throws(() => showTable({} as never), UsageError);
});

Deno.test("a figure stands alone, shrinks with its page and has a PNG beside it", async () => {
  const svg = '<svg width="300" height="100"><title>A &amp; B</title><rect width="9"/></svg>';
  const fitting = fittingSvg(`<figure><style>x</style>${svg}</figure>`);
  assert.match(fitting, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.match(fitting, /viewBox="0 0 300 100"/);
  assert.match(fitting, /style="max-width:100%;height:auto"/);
  const media = await mediaOf(showFigure({ outerHTML: svg }));
  assert.deepEqual(Object.keys(media), ["image/svg+xml", "image/png", "text/plain"]);
  assert.match(atob(media["image/png"]!), /^.PNG/);
  assert.equal(media["text/plain"], "A & B");
  assert.throws(() => showFigure("no picture"), /there is no <svg> in it/);
});

Deno.test("showPlot() heeds its options", async () => {
  const { svg } = showPlot(view, { width: 600, title: "My own title", caption: "and a line" });
  assert.match(svg, /viewBox="0 0 600 /);
  assert.match(svg, /My own title/);
  assert.match(svg, /and a line/);
  assert.notEqual(svg, showPlot(view).svg);
  assert.match((await mediaOf(showPlot(view)))["text/plain"]!, /Pareto/);
});

Deno.test("a report has its outcome in plain HTML before the page that needs trust", async () => {
  const { "text/html": html, "text/plain": text } = await mediaOf(await showReport(view));
  const [plain, page] = html!.split("<iframe");
  assert.match(plain!, /Report of study[\s\S]*All 2 trials[\s\S]*choose Trust Notebook/);
  assert.ok(page!.length > 1000);
  assert.match(text!, /All 2 trials[\s\S]*baseline/);
});

Deno.test("the front as a table says which members the samples do not tell apart", async () => {
  const apart = { ...view, groups: [view.front.slice(0, 2)] };
  const { "text/plain": text, "text/html": html } = await mediaOf(frontOfView(apart));
  const sentence =
    /The samples cannot tell t\d\d, t\d\d apart in quality: among them, take the one/;
  assert.match(text!, sentence);
  assert.match(html!, sentence);
  const told = await mediaOf(frontOfView({ ...view, groups: [] }));
  assert.doesNotMatch(told["text/plain"]!, /cannot tell/);
});

Deno.test("a member that breaks a limit is no advice among those that samples do not tell apart", () => {
  const [first, second, third] = ["a/t00", "a/t01", "a/t02"] as const;
  const row = (trial_id: string, violated: boolean) => ({ ...view.rows[0]!, trial_id, violated });
  const said = (wrong: readonly string[]) =>
    groupSentences({
      groups: [[first, second, third]],
      rows: [first, second, third].map((id) => row(id, wrong.includes(id))),
    });
  const start = "The samples cannot tell t00, t01, t02 apart in quality";
  assert.deepEqual(said([]), [`${start}: among them, take the one that costs least.`]);
  assert.deepEqual(said([third]), [
    `${start}, though t02 breaks a limit: among the others, take the one that costs least.`,
  ]);
  assert.deepEqual(said([second, third]), [`${start}, though t01, t02 break a limit.`]);
});
