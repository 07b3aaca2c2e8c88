/** A front that the request names, in SQL, in tables and in the figure. */
import assert from "node:assert/strict";
import { trialTable } from "../../../tracker/show/terminal/trial_table.ts";
import { studyReport } from "../../../tracker/show/reports/study_report.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { plotOf } from "../../../tracker/show/reports_of_study.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const w = world({ max_trials: 4, front: ["accuracy", "size", "memory", "latency"] });
const { study_id } = await run(w);
const view = await buildView(study_id, w.records, () => Promise.resolve(null));

Deno.test("SQL says the objectives that were asked for, and ranks by them", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, w.records);
    const { rows: [said] } = await store.query("SELECT front_objectives, front_note FROM studies");
    assert.deepEqual(said!["front_objectives"], [
      "accuracy",
      "size_bytes",
      "memory_bytes",
      "latency_ms",
    ]);
    assert.equal(
      said!["front_note"],
      "The front is of accuracy, size on disk, memory and latency, as asked.",
    );
    const { rows } = await store.query("SELECT trial_id FROM pareto WHERE rank = 0");
    assert.deepEqual(rows.map((row) => row["trial_id"]).sort(), [...view.front].sort());
  }));

Deno.test("the figure has a panel for each cost that was asked for", () => {
  const svg = plotOf(view);
  const text = svg.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
  for (const cost of ["size on disk \\(MB\\)", "memory \\(MB\\)", "latency, × the baseline"]) {
    assert.match(text, new RegExp(`← better: ${cost}`));
  }
  assert.doesNotMatch(svg, /NaN|undefined|null/);
  const report = renderMarkdown(studyReport(view, { svg, file: "pareto.svg" }, ""));
  assert.match(report, /Quality over size on disk and over memory and over latency\./);
});

Deno.test("tables have a column for what the front is of beside the usual ones", async () => {
  const head = (text: string) => text.split("\n")[0]!.trim().split(/\s{2,}/);
  const usual = head(trialTable(view));
  const rate = world({ max_trials: 1, front: ["accuracy", "size", "prefill_tokens_per_s"] });
  const other = await run(rate);
  const more = await buildView(other.study_id, rate.records, () => Promise.resolve(null));
  assert.ok(!usual.includes("prefill tokens/s"));
  assert.deepEqual(head(trialTable(more)).filter((one) => !usual.includes(one)), [
    "prefill tokens/s",
  ]);
});
