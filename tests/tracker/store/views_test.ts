import assert from "node:assert/strict";
import { comparableStudy, frontOf, standingsOf, yardstickOf } from "../../../core/mod.ts";
import type { Store } from "../../../tracker/store/store.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const round = (bits: number, targets: string) => ({
  agent: "shrinking",
  method: "round",
  params: { bits, group_size: 32, targets },
});

/** A study of the simulated world, kept in a store: two of its strategies share a first action. */
async function studied(
  work: (store: Store, study: Awaited<ReturnType<typeof run>>) => Promise<void>,
): Promise<void> {
  const w = world({
    max_trials: 9,
    strategies: [
      { actions: [round(8, "linear")] },
      { actions: [round(8, "linear"), round(8, "embedding")] },
    ],
  });
  const result = await run(w);
  await inDirectory(async (root) => {
    await using store = await recordedStore(root, w.records);
    await work(store, result);
  });
}

Deno.test("Every view answers, and every column of every view says what it means", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, studyRecords());
    const { rows } = await store.query(`
      SELECT view_name AS view, list(c.column_name) FILTER (c.comment IS NULL) AS silent,
        any_value(v.comment) AS comment
      FROM duckdb_views() v JOIN duckdb_columns() c ON c.table_name = v.view_name
      WHERE NOT v.internal GROUP BY ALL ORDER BY 1`);
    assert.ok(rows.length >= 12);
    for (const { view, silent, comment } of rows) {
      assert.equal(silent, null, `${view} has columns without a comment: ${silent}`);
      assert.ok(typeof comment === "string" && comment.endsWith("."), `${view} has no comment`);
      await store.query(`SELECT * FROM ${view}`);
    }
  }));

Deno.test("The view pareto has the core's ranks and hypervolume contributions", () =>
  studied(async (store, { trials, spec, hypervolume }) => {
    const front = frontOf(comparableStudy(trials, spec));
    const eligible = [...front.members, ...front.dominated];
    const points = eligible.map(({ point }) => point);
    const { rows: [study] } = await store.query("SELECT fp16_bytes FROM studies");
    const baseline = eligible.find(({ trial }) => trial.strategy === null)!.point;
    const yardstick = yardstickOf(spec.objectives, baseline, Number(study!["fp16_bytes"]));
    const standings = standingsOf(points, yardstick);
    const expected = new Map(
      eligible.map(({ trial }, i) => {
        const { rank, contribution } = standings[i]!;
        return [trial.trial_id, [rank, contribution]];
      }),
    );
    const { rows } = await store.query("SELECT trial_id, rank, contribution FROM pareto");
    const found = new Map(rows.map((row) => [row["trial_id"], [row["rank"], row["contribution"]]]));
    assert.deepEqual(found, expected);
    assert.ok(standings.some(({ rank }) => rank > 0));
    assert.ok(standings.some(({ contribution }) => contribution > 0));
    const { rows: [last] } = await store.query(
      "SELECT hypervolume, front_size FROM episodes ORDER BY number DESC LIMIT 1",
    );
    assert.deepEqual(last, { hypervolume, front_size: front.members.length });
  }));

Deno.test("trial_figures holds what the view headline chooses, also while a trial runs", () =>
  studied(async (store, { trials }) => {
    const running = trials.at(-1)!;
    const { study_id, trial_id, number, strategy, measurements } = running;
    const at = running.started_at;
    await store.record({ type: "trial_opened", at, study_id, trial_id, number, strategy });
    const proxy = measurements.filter(({ fidelity }) => fidelity === "proxy");
    await store.record({ type: "measured", at, study_id, trial_id, measurements: proxy });
    await store.flush();
    for (const metric of ["accuracy", "perplexity", "size_bytes", "memory_bytes"]) {
      const { rows } = await store.query(`
        SELECT count(*) AS n, count(h.value) AS headlines,
          count(*) FILTER (h.value IS DISTINCT FROM f.${metric}) AS unlike
        FROM trial_figures f LEFT JOIN headline h
          ON h.study_id = f.study_id AND h.trial_id = f.trial_id AND h.metric = '${metric}'`);
      assert.equal(rows[0]!["n"], trials.length);
      assert.ok(Number(rows[0]!["headlines"]) >= trials.length - 1);
      assert.equal(rows[0]!["unlike"], 0, metric);
    }
  }));

/** What a summary says, joined from its parts. */
const SUMMARY = `
  SELECT t.trial_id, t.number, t.methods, t.state, t.fidelity, coalesce(c.reward, t.reward) AS reward,
    f.accuracy, base.accuracy - f.accuracy AS accuracy_drop, 1 / c.latency_ratio AS speedup,
    c.latency_ms, c.latency_ratio, c.latency_ratio_low, c.latency_ratio_high,
    s.fp16_bytes / f.size_bytes AS compression_ratio, f.memory_bytes, f.energy_reader,
    t.violated, t.undecided, p.rank IS NOT DISTINCT FROM 0 AS on_front, p.rank AS front_rank,
    p.contribution, s.runtime, t.failure_kind, t.strategy_id, t.artifact_id, t.finished_at,
    coalesce(t.command, s.command) AS command
  FROM trials t
  JOIN studies s USING (study_id)
  LEFT JOIN trial_figures f ON f.study_id = t.study_id AND f.trial_id = t.trial_id
  LEFT JOIN baselines base ON base.study_id = t.study_id AND base.fidelity = t.fidelity
  LEFT JOIN compared_trials c ON c.study_id = t.study_id AND c.trial_id = t.trial_id
  LEFT JOIN front_points p ON p.study_id = t.study_id AND p.trial_id = t.trial_id
  ORDER BY t.number`;

Deno.test("trial_summary holds what its parts say, whatever changes: trials, the baseline, the front", () =>
  studied(async (store, { trials }) => {
    const same = async () => {
      await store.flush();
      const { columns, rows } = await store.query(SUMMARY);
      const names = columns.map(({ name }) => name).join(", ");
      const summary = await store.query(`SELECT ${names} FROM trial_summary ORDER BY number`);
      assert.deepEqual(summary.rows, rows);
      return rows;
    };
    const before = await same();
    assert.equal(before.length, trials.length);
    assert.ok(
      before.some((row) => row["on_front"]) && before.some((row) => row["speedup"] !== null),
    );
    // A front member starts anew: the others' places change. So does the baseline: all drops change.
    for (const trial of [before.findLast((row) => row["on_front"])!, before[0]!]) {
      const { study_id, trial_id, number, strategy, started_at: at } = trials.find((one) =>
        one.trial_id === trial["trial_id"]
      )!;
      await store.record({ type: "trial_opened", at, study_id, trial_id, number, strategy });
      assert.notDeepEqual(await same(), before);
    }
    assert.ok((await same()).every((row) => row["accuracy_drop"] === null));
    for (const trial of trials) {
      await store.record({ type: "trial_closed", at: trial.finished_at!, trial });
    }
    assert.deepEqual(await same(), before);
  }));

Deno.test("stage_comparison shows after each action what the trial that ended there measured", () =>
  studied(async (store, { trials }) => {
    const { rows } = await store.query(`
      SELECT action_index, method, measured_in, fidelity, accuracy, accuracy_retention, size_bytes,
        action_ratio, cumulative_ratio
      FROM stage_comparison WHERE trial_id = 'study/t02' ORDER BY action_index`);
    const overall = (number: number) =>
      trials[number]!.measurements.findLast((m) =>
        m.metric === "accuracy" && m.task === null && m.fidelity === trials[number]!.fidelity
      )!.value;
    const sizes = [1, 2].map((number) =>
      trials[number]!.measurements.find((m) => m.metric === "size_bytes")!.value
    );
    const fp16 = Number(rows[0]!["size_bytes"]);
    assert.deepEqual(rows.map((row) => row["measured_in"]), [
      "study/t00",
      "study/t01",
      "study/t02",
    ]);
    assert.deepEqual(rows.map((row) => row["accuracy"]), [0, 1, 2].map(overall));
    assert.deepEqual(rows.map((row) => row["size_bytes"]), [fp16, ...sizes]);
    assert.deepEqual(rows.map((row) => row["action_ratio"]), [
      null,
      fp16 / sizes[0]!,
      sizes[0]! / sizes[1]!,
    ]);
    assert.equal(rows[2]!["cumulative_ratio"], fp16 / sizes[1]!);
    assert.equal(rows[2]!["accuracy_retention"], overall(2) / overall(0));
  }));

Deno.test("accuracy_drop is against the baseline on the same samples, proxy or full", () =>
  studied(async (store, { trials }) => {
    const accuracy = (trial: (typeof trials)[number], fidelity: string | null) =>
      trial.measurements.findLast((m) =>
        m.metric === "accuracy" && m.task === null && m.fidelity === fidelity
      )!.value;
    const { rows } = await store.query(
      "SELECT number, fidelity, accuracy_drop FROM trial_summary WHERE state = 'completed'",
    );
    assert.deepEqual(new Set(rows.map((row) => row["fidelity"])), new Set(["proxy", "full"]));
    for (const { number, fidelity, accuracy_drop } of rows) {
      const at = String(fidelity);
      assert.equal(accuracy_drop, accuracy(trials[0]!, at) - accuracy(trials[Number(number)]!, at));
    }
  }));

Deno.test("retention corrects accuracy for chance, and nothing else", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, studyRecords());
    const { rows } = await store.query(`
      SELECT metric, value, baseline, ratio, degradation, chance, chance_corrected
      FROM retention WHERE trial_id = 'demo-1/t02' ORDER BY metric`);
    assert.deepEqual(rows, [
      {
        metric: "accuracy",
        value: 0.75,
        baseline: 0.8,
        ratio: 0.75 / 0.8,
        degradation: 0.8 - 0.75,
        chance: 0.25, // of the one primary task
        chance_corrected: (0.75 - 0.25) / (0.8 - 0.25),
      },
      {
        metric: "latency_ms",
        value: 6,
        baseline: 10,
        ratio: 0.6,
        degradation: -4,
        chance: null,
        chance_corrected: null,
      },
      {
        metric: "size_bytes",
        value: 70_000,
        baseline: 200_000,
        ratio: 0.35,
        degradation: -130_000,
        chance: null,
        chance_corrected: null,
      },
    ]);
  }));

Deno.test("knob_effects groups by a knob's value, and full figures never mix with proxy ones", () =>
  studied(async (store, { trials }) => {
    const { rows } = await store.query(`
      SELECT method, knob_number, fidelity, n, mean FROM knob_effects
      WHERE knob = 'bits' AND metric = 'accuracy' ORDER BY ALL`);
    const expected = new Map<string, number[]>();
    for (const trial of trials) {
      if (trial.state !== "completed" && trial.state !== "stopped") continue;
      const accuracy = trial.measurements.findLast((m) =>
        m.metric === "accuracy" && m.task === null && m.fidelity === trial.fidelity
      );
      const rounded = trial.actions.filter(({ params }) => params["bits"] !== undefined);
      const keys = rounded.map(({ method, params }) =>
        `${method} ${params["bits"]} ${trial.fidelity}`
      );
      for (const key of new Set(keys)) {
        expected.set(key, [...expected.get(key) ?? [], accuracy!.value]);
      }
    }
    assert.ok(expected.size > 3);
    assert.equal(rows.length, expected.size);
    for (const { method, knob_number, fidelity, n, mean } of rows) {
      const values = expected.get(`${method} ${knob_number} ${fidelity}`)!;
      assert.equal(n, values.length);
      const sum = values.reduce((total, value) => total + value, 0);
      assert.ok(Math.abs(Number(mean) - sum / values.length) < 1e-12);
    }
  }));

Deno.test("cost shares what the whole study took among the points of its front", () =>
  studied(async (store, { trials, front }) => {
    const minutes = (of: typeof trials) =>
      of.flatMap(({ spans }) => spans).filter(({ name }) => name !== "loop")
        .reduce((sum, { seconds }) => sum + seconds, 0) / 60;
    const points = front.filter((id) => id !== "study/t00");
    const { rows } = await store.query("SELECT * FROM cost ORDER BY trial_id");
    assert.deepEqual(rows.map((row) => row["trial_id"]), [...points].sort());
    for (const row of rows) {
      const own = trials.filter(({ trial_id }) => trial_id === row["trial_id"]);
      assert.ok(Math.abs(Number(row["minutes"]) - minutes(own)) < 1e-9);
      const share = minutes(trials) / points.length;
      assert.ok(Math.abs(Number(row["study_minutes_per_point"]) - share) < 1e-9);
      assert.equal(row["gpu_minutes"], null, "a study on a CPU held no GPU");
      assert.equal(row["joules"], null, "nobody read any power");
    }
  }));

Deno.test("An episode keeps the reward of its trial term by term", () =>
  studied(async (store, { trials }) => {
    const { rows } = await store.query(`
      SELECT e.trial_id, e.reward, r.contribution FROM episodes e
      JOIN (SELECT study_id, number, sum(contribution) AS contribution FROM episode_rewards
        GROUP BY ALL) r USING (study_id, number)`);
    assert.ok(rows.length > 4);
    for (const { trial_id, reward, contribution } of rows) {
      assert.ok(Math.abs(Number(reward) - Number(contribution)) < 1e-9);
      assert.ok(trials.some((trial) => trial.trial_id === trial_id));
    }
  }));
