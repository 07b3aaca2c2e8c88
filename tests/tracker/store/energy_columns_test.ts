import assert from "node:assert/strict";
import type { JournalRecord } from "../../../core/mod.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { measurement, studyOpened, studyRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const CARBON = { country: "DEU", g_per_kwh: 380.95, year: 2023, source: "codecarbon" };

/** The records of a study, its facts and readings changed. */
function changed(
  device: Partial<Extract<JournalRecord, { type: "study_opened" }>["facts"]["device"]>,
  more: (record: JournalRecord) => JournalRecord = (record) => record,
): JournalRecord[] {
  return studyRecords().map((record) =>
    record.type !== "study_opened" ? more(record) : {
      ...record,
      facts: { ...record.facts, device: { ...record.facts.device, ...device } },
    }
  );
}

const cpu_power = { watts_per_thread: 4, source: "a mean" };

Deno.test("by what energy is estimated and CO2 reckoned stands in columns; older studies have NULL", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const records = changed(
      { cpu_power, carbon_intensity: CARBON },
      (record) =>
        record.type === "energy_read"
          ? { ...record, how: "zeus, the package", carbon_intensity: { ...CARBON, country: null } }
          : record,
    );
    for (const record of [...records, studyOpened("older")]) await store.record(record);
    await store.flush();
    const { rows } = await store.query(`
      SELECT study_id, cpu_watts_per_thread, cpu_power_source, country, carbon_g_per_kwh,
        carbon_year FROM studies ORDER BY study_id`);
    assert.deepEqual(rows.map((row) => Object.values(row)), [
      ["demo-1", 4, "a mean", "DEU", 380.95, 2023],
      ["older", null, null, null, null, null],
    ]);
    const { rows: [reading] } = await store.query(
      "SELECT how, country, carbon_year, carbon_source FROM energy_readings LIMIT 1",
    );
    assert.deepEqual(Object.values(reading!), ["zeus, the package", "world", 2023, "codecarbon"]);
  }));

Deno.test("cost.joules says how it was read: a GPU's power, an estimate, or not at all", async () => {
  const costs = async (records: JournalRecord[]) => {
    let found: Record<string, unknown>[] = [];
    await inDirectory(async (root) => {
      await using store = await recordedStore(root, records);
      ({ rows: found } = await store.query(`
        SELECT cpu_minutes, joules, energy_reader, study_joules_per_point IS NULL AS unsummed
        FROM cost ORDER BY trial_id`));
    });
    assert.ok(found.length > 0);
    return found[0]!;
  };
  const unknown = await costs(changed({}));
  assert.deepEqual([unknown["joules"], unknown["energy_reader"]], [null, null]);
  const estimated = await costs(changed({ cpu_power }));
  assert.equal(estimated["energy_reader"], "estimate");
  assert.equal(estimated["joules"], Number(estimated["cpu_minutes"]) * 60 * 4);
  assert.equal(estimated["unsummed"], false);
  const power = (record: JournalRecord, watts: number | null): JournalRecord =>
    record.type === "resources" ? { ...record, power_watts: watts } : record;
  const measured = await costs(changed({ cpu_power }, (record) => power(record, 250)));
  assert.deepEqual([measured["joules"], measured["energy_reader"]], [250, "nvml-power"]);
  const mixed = await costs(
    changed(
      { cpu_power },
      (record) =>
        power(record, "trial_id" in record && record.trial_id === "demo-1/t01" ? 250 : null),
    ),
  );
  assert.equal(mixed["unsummed"], true, "watts that were read and watts estimated are no sum");
});

Deno.test("cost adds cores and watts over each call's time, in minutes and joules", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    type Reading = Extract<JournalRecord, { type: "resources" }>;
    const reading = (record: Reading, changes: Partial<Reading>) => ({ ...record, ...changes });
    const records = changed({ device: "cuda" }).flatMap((record): JournalRecord[] => {
      if (record.type !== "resources") return [record];
      if (record.trial_id !== "demo-1/t01") return [];
      return [
        // A minute at three cores and 150 W on average, half a minute at one and 50 W.
        reading(record, { seconds: 30, cpu_utilisation: 2, power_watts: 100 }),
        reading(record, { seconds: 60, cpu_utilisation: 4, power_watts: 200 }),
        reading(record, { call: "evaluate", seconds: 30, cpu_utilisation: 1, power_watts: 50 }),
      ];
    });
    for (const record of records) await store.record(record);
    await store.flush();
    const { rows } = await store.query("SELECT * FROM cost WHERE trial_id = 'demo-1/t01'");
    const [row] = rows;
    const front = Number(row!["front_size"]);
    assert.equal(row!["cpu_minutes"], 3.5);
    assert.equal(row!["joules"], 10_500);
    assert.equal(row!["gpu_minutes"], row!["minutes"]);
    assert.equal(Number(row!["study_cpu_minutes_per_point"]) * front, 3.5);
    assert.equal(Number(row!["study_joules_per_point"]) * front, 10_500);
    assert.equal(row!["study_gpu_minutes_per_point"], row!["study_minutes_per_point"]);
    assert.ok(front > 1, "else a share is the whole");
  }));

Deno.test("repeats' spread and the reader's name are columns of the figures", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const spread = { minimum: 1, lower_quartile: 2, upper_quartile: 4, maximum: 9 };
    const method = "estimate; mean over 3 s of decoding; 4 W a busy thread";
    const records = studyRecords().map((record): JournalRecord =>
      record.type !== "trial_closed" ? record : {
        ...record,
        trial: {
          ...record.trial,
          measurements: [
            ...record.trial.measurements,
            measurement("prefill_tokens_per_s", 3, { runtime: "openvino", spread }),
            measurement("energy_j_per_1k_tokens", 70, { runtime: "openvino", method }),
          ],
        },
      }
    );
    for (const record of records) await store.record(record);
    await store.flush();
    const { rows: [row] } = await store.query(`
      SELECT minimum, lower_quartile, upper_quartile, maximum FROM headline
      WHERE metric = 'prefill_tokens_per_s' LIMIT 1`);
    assert.deepEqual(row, spread);
    const { rows: [one] } = await store.query(
      "SELECT energy_j_per_1k_tokens, energy_reader FROM leaderboard_wide LIMIT 1",
    );
    assert.deepEqual(one, { energy_j_per_1k_tokens: 70, energy_reader: "estimate" });
  }));
