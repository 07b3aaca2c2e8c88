/** What SQL says of latencies of different minutes: the core's own comparison, and nothing else. */
import assert from "node:assert/strict";
import {
  comparableStudy,
  frontOf,
  type JournalRecord,
  type Measurement,
  type Trial,
} from "../../../core/mod.ts";
import type { Store } from "../../../tracker/store/store.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const w = world({ max_trials: 6 });
const { spec } = w.input();
await run(w);

/** The study's records with other figures in each closed trial, kept in a store. */
async function changed(
  change: (row: Measurement, trial: Trial) => Measurement,
  work: (store: Store, trials: Trial[]) => Promise<void>,
): Promise<void> {
  const records = w.records.map((record): JournalRecord => {
    if (record.type !== "trial_closed") return record;
    const { trial } = record;
    const measurements = trial.measurements.map((row) => change(row, trial));
    return { ...record, trial: { ...trial, measurements } };
  });
  const trials = records.flatMap((record) => record.type === "trial_closed" ? [record.trial] : []);
  await inDirectory(async (root) => {
    await using store = await recordedStore(root, records);
    await work(store, trials);
  });
}

const LATENCIES = {
  headline: "SELECT trial_id, value AS latency_ms FROM headline WHERE metric = 'latency_ms'",
  retention: "SELECT trial_id, value AS latency_ms FROM retention WHERE metric = 'latency_ms'",
  leaderboard_wide: "SELECT trial_id, latency_ms FROM leaderboard_wide",
  trial_summary: "SELECT trial_id, latency_ms FROM trial_summary",
};

Deno.test("SQL ranks by the ratio to the baseline of the same minutes, and shows it", () =>
  changed(
    (row, { number }) => {
      // Every other session ran on a machine half as fast.
      const slow = number % 2 === 1 && row.metric.endsWith("latency_ms");
      return slow ? { ...row, value: 2 * row.value } : row;
    },
    async (store, trials) => {
      const study = comparableStudy(trials, spec);
      const { rows } = await store.query(`
        SELECT trial_id, latency_ms, latency_ratio, latency_ratio_low AS low,
          latency_ratio_high AS high, speedup, reward, violated
        FROM trial_summary ORDER BY number`);
      const wanted = study.trials.map(({ trial_id, latency, reward, constraints }) => ({
        trial_id,
        latency_ms: latency?.ms ?? null,
        latency_ratio: latency?.ratio ?? null,
        low: latency?.interval?.[0] ?? null,
        high: latency?.interval?.[1] ?? null,
        speedup: latency === null ? null : 1 / latency.ratio!,
        reward: reward?.value ?? null,
        violated: constraints.filter(({ verdict }) => verdict === "violated")
          .map(({ constraint }) => constraint).sort(),
      }));
      assert.deepEqual(rows, wanted);
      assert.ok(rows.filter((row) => row["latency_ratio"] !== null).length > 3);
      const { rows: front } = await store.query(
        "SELECT trial_id, latency_ms FROM pareto WHERE rank = 0 ORDER BY trial_id",
      );
      const members = frontOf(study).members.map(({ trial }) => ({
        trial_id: trial.trial_id,
        latency_ms: trial.latency!.ms,
      })).sort((a, b) => a.trial_id < b.trial_id ? -1 : 1);
      assert.deepEqual(front, members);
      // Every view that has a latency has that one: what was timed stands in measurements alone.
      for (const [view, asked] of Object.entries(LATENCIES)) {
        const { rows: [kept] } = await store.query(`
          SELECT count(*) AS n, count(*) FILTER (abs(v.latency_ms - c.latency_ms) > 1e-9) AS unlike
          FROM (${asked}) v JOIN compared_trials c USING (trial_id)
          WHERE c.latency_ms IS NOT NULL`);
        assert.ok(Number(kept!["n"]) > 3, view);
        assert.equal(kept!["unlike"], 0, `${view} has another latency than the comparison`);
      }
      const { rows: [ratio] } = await store.query(`
        SELECT count(*) FILTER (abs(r.ratio - c.latency_ratio) > 1e-9) AS unlike
        FROM retention r JOIN compared_trials c USING (trial_id) WHERE r.metric = 'latency_ms'`);
      assert.equal(ratio!["unlike"], 0, "retention takes the baseline of the same minutes");
    },
  ));

Deno.test("SQL says where the front is of quality and bytes, ranks all trials, shows no emulated time", () =>
  changed(
    (row, { strategy }) =>
      strategy !== null && row.metric === "latency_ms" ? { ...row, provenance: "emulated" } : row,
    async (store, trials) => {
      const study = comparableStudy(trials, spec);
      const { rows: [said] } = await store.query(
        "SELECT front_objectives, front_note FROM studies",
      );
      assert.deepEqual(said!["front_objectives"], ["accuracy", "size_bytes"]);
      assert.match(
        String(said!["front_note"]),
        /^The front is of accuracy and size on disk, not of latency/,
      );
      const { rows: placed } = await store.query(
        "SELECT trial_id FROM pareto WHERE NOT is_baseline",
      );
      const full = trials.filter(({ strategy, fidelity, state }) =>
        strategy !== null && fidelity === "full" && state === "completed"
      );
      assert.equal(placed.length, full.length, "nobody is thrown out");
      const { rows: front } = await store.query(
        "SELECT trial_id FROM pareto WHERE rank = 0 ORDER BY trial_id",
      );
      assert.deepEqual(
        front.map((row) => row["trial_id"]),
        frontOf(study).members.map(({ trial }) => trial.trial_id).sort(),
      );
      const { rows: times } = await store.query(
        "SELECT latency_ms, latency_ratio, speedup FROM leaderboard_wide",
      );
      assert.ok(times.length > 0);
      for (const row of times) {
        assert.deepEqual(row, { latency_ms: null, latency_ratio: null, speedup: null });
      }
    },
  ));
