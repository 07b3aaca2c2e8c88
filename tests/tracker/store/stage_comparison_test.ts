/** What each action of a chain cost and won, as SQL tells it. */
import assert from "node:assert/strict";
import { openStore } from "../../../tracker/store/store.ts";
import { chained } from "../../core/recovery_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("stage_comparison has each action's seconds and gain, from the midst where no trial ended there", () =>
  inDirectory(async (root) => {
    const { w, trial } = await chained(true, "thin", "heal", "tune");
    await using store = await openStore(root, { write: true });
    for (const one of w.records) await store.record(one);
    const { study_id, trial_id, artifact_ids: [artifact_id] } = trial;
    await store.record({
      ...{ type: "layer_sensitivities", at: "2026-11-22T12:00:00.000Z", study_id, trial_id },
      ...{ artifact_id: artifact_id!, metric: "estimated_energy_j", unit: "J" },
      layers: [{ layer: null, value: 12 }],
    });
    await store.flush({ wait_ms: 60_000 });
    const { rows } = await store.query(`
      SELECT action_index, method, measured_in, fidelity, accuracy, accuracy_gain, seconds,
        gain_fidelity, energy_j, energy_provenance,
        accuracy - lag(accuracy) OVER (ORDER BY action_index) AS difference
      FROM stage_comparison WHERE trial_id = '${trial.trial_id}' ORDER BY action_index`);
    assert.deepEqual(rows.map(({ action_index, method }) => `${action_index} ${method}`), [
      ...["-1 baseline", "0 thin", "1 heal", "2 tune"],
    ]);
    assert.deepEqual(rows.map(({ measured_in }) => measured_in), [
      "study/t00",
      ...Array(3).fill(trial.trial_id),
    ]);
    assert.deepEqual(rows.map(({ seconds }) => seconds), [null, 10, 10, 10]);
    assert.deepEqual(rows.map((row) => [row["energy_j"], row["energy_provenance"]]), [
      [null, null],
      [12, "estimated"],
      ...Array(2).fill([null, null]),
    ]);
    const [, pruned, healed, rounded] = rows.map((row) => Number(row["accuracy_gain"]));
    assert.deepEqual(rows.map((row) => row["gain_fidelity"]), [null, "proxy", "proxy", "proxy"]);
    assert.ok(pruned! < -0.4, `pruning cost ${pruned}`);
    assert.ok(Math.abs(pruned! + healed!) < 0.05, `${healed} were won back of ${pruned}`);
    assert.equal(healed, rows[2]!["difference"]);
    // The last was evaluated in full, the one before it on the proxy: the gain is the proxy's.
    const { rows: [proxy] } = await store.query(`
      SELECT value FROM measurements WHERE trial_id = '${trial.trial_id}'
        AND metric = 'accuracy' AND task IS NULL AND fidelity = 'proxy'`);
    assert.equal(rows[3]!["fidelity"], "full");
    assert.equal(rounded, Number(proxy!["value"]) - Number(rows[2]!["accuracy"]));
  }));
