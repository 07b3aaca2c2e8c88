/** A study of three rungs as SQL, tables, the figure and MLflow's names tell it. */
import assert from "node:assert/strict";
import type { Trial } from "../../../core/mod.ts";
import { measurementKey } from "../../../tracker/exchange/mlflow/describe/metric_names.ts";
import { plotOf } from "../../../tracker/show/reports_of_study.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { studyReport } from "../../../tracker/show/reports/study_report.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { standing } from "../../../tracker/show/view/trial_rows.ts";
import { figure, run, samplesIn, world } from "../../core/study_world.ts";
import { assertRebuilds } from "../../fixtures/stores/contents.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const tune = (bits: number) => ({
  actions: [{ agent: "shrinking", method: "tune", params: { bits } }],
});

/** Four bits reach the last rung; eight lose on the one between, where three are stopped. */
async function climbed() {
  const w = world({
    samples: { proxy: 100, full: 400, between: [{ fidelity: "half", samples: 200 }] },
    strategies: [tune(4), tune(8), tune(3)],
    constraints: { max_accuracy_drop: 0.5 },
    max_trials: 3,
  }, {
    loss: (bits, _, rung) => rung === "proxy" ? 0 : { 8: 0.6, 3: 0.95 }[bits] ?? 0,
  });
  const { trials } = await run(w);
  const of = (bits: number) => trials.find(({ actions }) => actions[0]?.params["bits"] === bits)!;
  return { w, full: of(4), half: of(8), stopped: of(3) };
}

Deno.test("a rung between has its rows in SQL, also in an index made anew", () =>
  inDirectory(async (root) => {
    const { w, full, half, stopped } = await climbed();
    const ids = [full, half, stopped].map(({ trial_id }) => trial_id);
    await using store = await recordedStore(root, w.records);
    const rows = async (sql: string) => (await store.query(sql)).rows;
    assert.deepEqual(
      await rows(
        "SELECT height, fidelity, samples FROM rungs WHERE task = 'words' ORDER BY height",
      ),
      [
        { height: 0, fidelity: "proxy", samples: 100 },
        { height: 1, fidelity: "half", samples: 200 },
        { height: 2, fidelity: "full", samples: 400 },
      ],
    );
    const [task] = await rows(
      "SELECT proxy_samples, full_samples FROM study_tasks WHERE task = 'words'",
    );
    assert.deepEqual(task, { proxy_samples: 100, full_samples: 400 });
    const figures = await rows(`
      SELECT t.trial_id, t.state, t.fidelity, t.accuracy_n, h.n, t.accuracy = h.value AS alike,
        round(t.accuracy_drop, 6) = round(b.accuracy - h.value, 6) AS beside_its_rung
      FROM trial_summary t
      JOIN headline h ON h.trial_id = t.trial_id AND h.metric = 'accuracy'
      JOIN baselines b ON b.study_id = t.study_id AND b.fidelity = t.fidelity
      WHERE t.number > 0 ORDER BY t.number`);
    const told = (trial_id: string, state: string, fidelity: string, n: number) => ({
      ...{ trial_id, state, fidelity, accuracy_n: n, n, alike: true, beside_its_rung: true },
    });
    assert.deepEqual(figures, [
      told(ids[0]!, "completed", "full", 400),
      told(ids[1]!, "completed", "half", 200),
      told(ids[2]!, "stopped", "half", 200),
    ]);
    assert.deepEqual(await rows("SELECT trial_id FROM pareto WHERE trial_id LIKE '%t01'"), [
      { trial_id: ids[0] },
    ]);
    assert.deepEqual(
      await rows(`SELECT count(*) AS n FROM pareto WHERE trial_id IN ('${ids[1]}', '${ids[2]}')`),
      [{ n: 0 }],
    );
    const phases = await rows(`
      SELECT phase FROM spans WHERE trial_id = '${ids[1]}' AND phase IN ('proxy', 'half', 'full')`);
    assert.deepEqual(phases.map(({ phase }) => phase), ["proxy", "half"]);
    await assertRebuilds(store);
  }));

Deno.test("stage_comparison takes the trial that was evaluated furthest for a shared artifact", () =>
  inDirectory(async (root) => {
    const { w, half } = await climbed();
    await using store = await openStore(root, { write: true });
    // The same recipe on the proxy alone, under an earlier number and in the same study.
    const proxy: Trial = {
      ...half,
      trial_id: `${half.study_id}/t09`,
      number: -1,
      fidelity: "proxy",
      measurements: half.measurements.filter(({ fidelity }) => fidelity !== "half"),
    };
    const { actions, artifact_ids } = half;
    const longer: Trial = {
      ...proxy,
      trial_id: `${half.study_id}/t10`,
      number: 10,
      actions: [...actions, ...actions],
      artifact_ids: [...artifact_ids, "later"],
    };
    const at = w.records.at(-1)!.at;
    for (const one of w.records) await store.record(one);
    for (const trial of [proxy, longer]) await store.record({ type: "trial_closed", at, trial });
    await store.flush({ wait_ms: 60_000 });
    const { rows } = await store.query(`
      SELECT measured_in, fidelity FROM stage_comparison
      WHERE trial_id = '${longer.trial_id}' AND action_index = 0`);
    assert.deepEqual(rows, [{ measured_in: half.trial_id, fidelity: "half" }]);
  }));

Deno.test("report, tables and figure show how far a trial was evaluated", async () => {
  const { w, half, full } = await climbed();
  const view = await buildView(half.study_id, w.records, samplesIn(w));
  const row = view.rows.find(({ trial_id }) => trial_id === half.trial_id)!;
  assert.deepEqual([row.fidelity, row.samples], ["half", { n: 200, of: 400 }]);
  assert.equal(row.accuracy?.n, 200);
  assert.equal(standing({ ...row, violated: false }, null), "half only");
  const svg = plotOf(view);
  assert.match(svg, /dominated, or not in full/);
  const text = renderMarkdown(studyReport(view, { svg, file: "pareto.svg" }, ""));
  const line = (trial: Trial) =>
    text.slice(text.indexOf("\n## Trials\n")).split("\n")
      .find((one) => one.startsWith(`| t0${trial.number} |`)) ?? "";
  assert.match(line(half), /\| half, 200 of 400 samples \|/);
  assert.match(line(full), /\| full \|/);
});

Deno.test("MLflow's names say the rung where it is not the last", () => {
  const on = (fidelity: string) =>
    measurementKey({ ...figure("accuracy", 1, null, null), fidelity, task: "words" }, null);
  assert.deepEqual(["proxy", "half", "full"].map(on), [
    "proxy/words/accuracy",
    "half/words/accuracy",
    "words/accuracy",
  ]);
});
