/** The benchmark's document, and that the documentation has the tables of the rows that are kept. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { stagesPlan, type StudyRequest } from "../../../core/mod.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { checkStudy } from "../../../tracker/lab/check_study.ts";
import { exampleText } from "../../../tracker/lab/read_document.ts";
import { readLines } from "../cells/kept_lines.ts";
import { round, runWorld, stagesWorld } from "../../core/stages/stages_world.ts";
import { DocumentRun, documentRun, documentTable } from "./document_rows.ts";
import { cellsOf, tableOf, withTable } from "../cells/kept_tables.ts";
import { reducedDocument } from "./reduced_document.ts";
import { keptDocument } from "./run_document.ts";
import { KeptCell, stagesTable } from "./stage_rows.ts";

const page = await readFile(
  new URL("../../../docs/measurements/codecs.md", import.meta.url),
  "utf8",
);

Deno.test("the document on few samples has the stages, gates, retries and benchmarks of the whole one", () => {
  const request: StudyRequest = checkStudy(reducedDocument(exampleText(), "/data"), "stages");
  const plan = stagesPlan(request);
  assert.deepEqual(
    plan.stages.map(({ name, core, expert, attempts }) => [name, core, expert, attempts]),
    [["seedlm", 0.98, 0.98, 1], ["vptq", 0.95, 0.93, 1], ["hyper_compression", 0.9, 0.88, 2]],
  );
  assert.ok(plan.stages.every(({ adjustments }) => adjustments.length > 0));
  assert.equal(plan.core.length, 8, "seven, of TruthfulQA both");
  assert.equal(Object.keys(plan.experts).length, 8);
  const counts = request.samples.by_task!;
  const named = new Set([...plan.core, ...Object.values(plan.experts).flat()]);
  assert.deepEqual(Object.keys(counts).filter((name) => !named.has(name)), []);
  assert.equal(request.data_dir, "/data");
  const fromHub = checkStudy(reducedDocument(exampleText(), undefined), "stages");
  assert.equal(fromHub.data_dir, undefined);
});

/** What is kept of a run whose second stage is tried twice and rolled back. */
async function outcome(loss: (bits: number) => number): Promise<DocumentRun> {
  const w = stagesWorld({
    stages: [
      { name: "first", actions: [round(8)], expected: { ratio: 8 } },
      { name: "second", actions: [round(2)], adjustments: [{ below: 0.95, set: { bits: 3 } }] },
    ],
    experts: { shops: ["webshop"] },
    core: ["words", "webshop"],
  }, { loss });
  await runWorld(w);
  return documentRun(await buildView("study", w.records, () => Promise.resolve(null)), 2);
}

Deno.test("of a run is kept what each attempt left, kept and took, and what is shipped", async () => {
  const run = await outcome((bits) => bits <= 3 ? 0.12 : 0);
  assert.deepEqual(DocumentRun.parse(JSON.parse(JSON.stringify(run))), run);
  const attempts = run.attempts.map(({ stage, attempt, decision, params }) =>
    `${stage} ${attempt} ${decision} ${params["bits"]}`
  );
  assert.deepEqual(attempts, ["first 1 advance 8", "second 1 retry 2", "second 2 roll_back 3"]);
  const [first, second] = run.attempts;
  assert.equal(first!.core!.value, 1);
  assert.deepEqual(first!.benchmarks.map(({ benchmark }) => benchmark), ["words"]);
  assert.deepEqual([first!.expected_ratio, second!.expected_ratio], [8, null]);
  assert.ok(first!.bytes! > second!.bytes! && second!.core!.value < 0.95);
  assert.ok(second!.failed.includes("core words"), second!.failed.join());
  assert.equal(run.shipped?.stage, "first");
  assert.equal(run.shipped?.bytes, first!.bytes);
  assert.deepEqual(run.original.benchmarks.map(({ benchmark }) => benchmark), ["words"]);
  assert.deepEqual(run.original.silent.map(({ benchmark }) => benchmark), ["webshop"]);
  const lines = documentTable(run).split("\n");
  assert.equal(lines.length, 2 + 1 + 3);
  assert.match(lines[3]!, /^\| first 1 \| 8 × \| .* \| passed, shipped \| /);
  assert.match(lines[4]!, /^\| second 1 \| – \| .* \| failed, tried again \| /);
  assert.match(lines[5]!, /failed, rolled back/);
  const lost = await outcome((bits) => bits === 16 ? 0 : 0.5);
  assert.equal(lost.shipped?.stage, "original");
  assert.match(documentTable(lost), /\| original, shipped \|/);
});

Deno.test("a page's table is what stands between its marks; one without marks is told", () => {
  const marks = ["<!-- cells: deno task bench:stages --figure -->", "<!-- end of cells -->"];
  const table = "| a | b |\n| --- | --- |\n| **c** | 1 × |";
  const made = withTable(`before\n\n${marks[0]}\nold\n${marks[1]}\n\nafter\n`, "cells", table);
  assert.equal(tableOf(made, "cells"), table);
  assert.match(made, /^before\n[^]*\nafter\n$/);
  assert.equal(withTable(made, "cells", table), made);
  assert.deepEqual(cellsOf("| a  |  b |\n| -- | --- |\n| **c** | 1 × |"), cellsOf(table));
  assert.throws(() => withTable("nothing", "cells", table), /Cannot find the table cells/);
});

Deno.test("the documentation's tables are those of the rows that are kept", async () => {
  const text = await readFile(new URL("./stages.jsonl", import.meta.url), "utf8");
  const kept = readLines(KeptCell, text);
  const tables: Record<string, string> = { cells: stagesTable(kept) };
  const run = await keptDocument();
  if (run !== null) tables["document"] = documentTable(run);
  for (const [name, table] of Object.entries(tables)) {
    assert.deepEqual(
      cellsOf(tableOf(page, name)),
      cellsOf(table),
      `the table ${name} of docs/measurements/codecs.md is of other rows: deno task bench:stages --figure`,
    );
  }
});
