/** What the bandit believes: in SQL, in the report and as a figure. */
import assert from "node:assert/strict";
import bandit from "../../../plugins/search/bandit.ts";
import { beliefsPlot } from "../../../tracker/show/plots/beliefs_plot.ts";
import { reportBlocks } from "../../../tracker/show/reports_of_study.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { run, world } from "../../core/study_world.ts";
import { assertRebuilds } from "../../fixtures/stores/contents.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("beliefs are rows after every episode, rebuilt the same, and stand in report and figure", () =>
  inDirectory(async (root) => {
    const w = world({ max_trials: 5 });
    const { study_id } = await run(w, { samplers: [bandit] });
    await using store = await openStore(root, { write: true });
    for (const one of w.records) if (one.type !== "samples_written") await store.record(one);
    await store.flush({ wait_ms: 60_000 });
    const { rows } = await store.query(
      "SELECT number, method, trials, alpha, beta, mean, deviation, latest FROM method_beliefs " +
        "ORDER BY number, method",
    );
    const episodes = w.records.flatMap((one) => one.type === "episode_closed" ? [one.episode] : []);
    assert.equal(rows.length, episodes.reduce((sum, { beliefs }) => sum + beliefs!.length, 0));
    const last = episodes.at(-1)!;
    for (const { method, alpha, beta, trials } of last.beliefs!) {
      const row = rows.find((one) => one["latest"] === true && one["method"] === method)!;
      assert.deepEqual([row["alpha"], row["beta"], row["trials"]], [alpha, beta, trials]);
      assert.ok(Math.abs(Number(row["mean"]) - alpha / (alpha + beta)) < 1e-12);
    }
    await assertRebuilds(store);
    const silent = await store.query(`SELECT table_name, column_name FROM duckdb_columns()
      WHERE comment IS NULL AND table_name IN ('beliefs', 'method_beliefs')`);
    assert.deepEqual(silent.rows, []);
    const view = await buildView(study_id, w.records, () => Promise.resolve(null));
    const text = renderMarkdown(reportBlocks(view));
    assert.match(text, /## What the search believes of each method/);
    assert.match(text, /beliefs\.svg/);
    const svg = beliefsPlot(view.beliefs)!;
    assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assert.doesNotMatch(svg, /NaN/);
  }));

Deno.test("nothing is drawn of no beliefs, or of methods that no trial has used", () => {
  assert.equal(beliefsPlot([]), null);
  const idle = { agent: "a", method: "b", trials: 0, alpha: 1, beta: 1 };
  assert.equal(beliefsPlot([{ number: 1, beliefs: [idle] }]), null);
  const one = beliefsPlot([{ number: 1, beliefs: [{ ...idle, trials: 1, alpha: 2 }] }]);
  assert.doesNotMatch(one ?? "NaN", /NaN/);
});
