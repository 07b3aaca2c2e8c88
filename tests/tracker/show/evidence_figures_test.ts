/** Figures that a report folds: those that the store has rows for, of its own study alone. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { evidenceFigures } from "../../../tracker/show/evidence_figures.ts";
import { renderHtml } from "../../../tracker/show/reports/render_html.ts";
import { reportBlocks, writeOutputs } from "../../../tracker/show/reports_of_study.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";

Deno.test("a report folds a figure of everything that the store has rows for", () =>
  inDirectory(async (root) => {
    await using store = await openStore(join(root, "store"), { write: true });
    for (const record of [...studyRecords("one"), ...studyRecords("other")]) {
      if (record.type !== "samples_written") await store.record(record);
    }
    await store.flush();
    const view = await viewStudy(store, "one");
    const found = await evidenceFigures(store, view);
    const { rows } = await store.query(
      "SELECT count(*) > 0 AS timed FROM spans WHERE study_id = 'one'",
    );
    assert.equal(rows[0]!["timed"], true, "the fixture has phases");
    const files = found.map(({ file }) => file);
    assert.ok(files.includes("figures/phases.svg"), files.join(", "));
    assert.equal(new Set(files).size, files.length);
    for (const { svg, narrow, source, file } of found) {
      assert.doesNotMatch(svg, /Nothing is drawn/, file);
      assert.doesNotMatch(svg, /other\/t/, `${file} is of its own study alone`);
      assert.match(narrow, /^<svg/);
      const { rows } = await store.query(`SELECT count(*) AS n FROM ${source}`);
      assert.ok(Number(rows[0]!["n"]) > 0, source);
    }
    const html = renderHtml("One", reportBlocks(view, { evidence: found }));
    for (const { summary } of found) assert.ok(html.includes(summary), summary);
    assert.ok(!renderHtml("One", reportBlocks(view)).includes(">Figures<"));
    const written = await writeOutputs(view, join(root, "out"), { evidence: found });
    for (const file of files) {
      assert.ok(written.files.includes(join(root, "out", file)), file);
      assert.match(await Deno.readTextFile(join(root, "out", file)), /^<svg/);
    }
    const request = { ...view.request, kind: "evaluation" };
    assert.deepEqual(await evidenceFigures(store, { ...view, request }), []);
  }));
