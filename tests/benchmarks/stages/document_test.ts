/** The benchmark's document, and that the documentation has the tables of the rows that are kept. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { StudyRequest } from "../../../core/mod.ts";
import { checkStudy } from "../../../tracker/check_study.ts";
import { exampleText } from "../../../tracker/stages/read_document.ts";
import { readLines } from "../cells/kept_lines.ts";
import { documentTable } from "./document_rows.ts";
import { cellsOf, tableOf, withTable } from "./kept_tables.ts";
import { reducedDocument } from "./reduced_document.ts";
import { keptDocument } from "./run_document.ts";
import { KeptCell, stagesTable } from "./stage_rows.ts";

const page = await readFile(new URL("../../../docs/stages.md", import.meta.url), "utf8");

Deno.test("the document on few samples has the stages, gates, retries and benchmarks of the whole one", () => {
  const request: StudyRequest = checkStudy(reducedDocument(exampleText(), "/data"), "stages");
  const plan = request.stages!;
  assert.deepEqual(
    plan.stages.map(({ name, core, expert, attempts }) => [name, core, expert, attempts]),
    [["seedlm", 0.98, 0.98, 1], ["vptq", 0.95, 0.93, 2], ["hyper_compression", 0.9, 0.88, 2]],
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
      `the table ${name} of docs/stages.md is of other rows: deno task bench:stages --figure`,
    );
  }
});
