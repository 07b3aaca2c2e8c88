import assert from "node:assert/strict";
import type { JournalRecord, Measurement } from "../../../core/mod.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { measurement, studyRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const AT = "2026-03-01T12:02:00.000Z";
const numerics = (inference_precision: string, activation_group: number) => ({
  ...{ inference_precision, kv_precision: "f32", activation_group, threads: 2 },
});

/** A study that timed the original in two ways, and a trial in another runtime. */
function records(latency_ms: number): JournalRecord[] {
  const in_llama = (metric: string, value: number, of: Measurement["numerics"]) =>
    measurement(metric, value, { runtime: "llama.cpp", numerics: of });
  const packed = numerics("f32", 32);
  return [
    ...studyRecords().map((record) =>
      record.type !== "study_opened" ? record : {
        ...record,
        facts: {
          ...record.facts,
          runtimes: [
            {
              ...{ runtime: "llama.cpp", precision: "f16", numerics: numerics("f16", 0) },
              ...{ latency_ms: 8.5, standard_error: 0.1, passes: 5, bytes_read: 269_000_000 },
              ...{ reason: null, at: AT, busy_cores: 1.5 },
            },
            {
              ...{ runtime: "openvino", precision: "bf16", numerics: null, latency_ms: null },
              ...{ standard_error: null, passes: 0, bytes_read: null, reason: "no memory", at: AT },
            },
          ],
        },
      }
    ),
    {
      ...{ type: "timed_in_runtime", at: AT, study_id: "demo-1", trial_id: "demo-1/t01" },
      ...{ runtime: "llama.cpp", reason: null },
      measurements: [
        in_llama("latency_ms", latency_ms, packed),
        in_llama("latency_ratio", 0.5, packed),
        in_llama("baseline_latency_ms", 8.6, numerics("f16", 0)),
        in_llama("runtime_kl", 0.004, packed),
        in_llama("runtime_accuracy_change", -0.004, packed),
        // Of one task: nobody's answer to how the trial does there.
        { ...in_llama("runtime_accuracy_change", 0.017, packed), task: "choices" },
      ],
    },
  ];
}

Deno.test("timings in other runtimes stand in SQL with the runtime's settings, the last one of each", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, [...records(5), records(4.3).at(-1)!]);
    const { rows } = await store.query(`
      SELECT trial_id, runtime, inference_precision, kv_precision, activation_group, threads,
        latency_ms, latency_ratio, baseline_precision, runtime_kl, bytes_read, reason,
        runtime_accuracy_change, busy_cores
      FROM runtime_timings ORDER BY trial_id NULLS FIRST, runtime`);
    assert.deepEqual(rows.map((row) => Object.values(row)), [
      [null, "llama.cpp", "f16", "f32", 0, 2, 8.5, null, null, null, 269_000_000, null, null, 1.5],
      [
        null,
        "openvino",
        "bf16",
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        "no memory",
        null,
        null,
      ],
      [
        "demo-1/t01",
        "llama.cpp",
        "f32",
        "f32",
        32,
        2,
        4.3,
        0.5,
        "f16",
        0.004,
        null,
        null,
        -0.004,
        null,
      ],
    ]);
    const both = await store.query(`
      SELECT runtime, latency_ms, inference_precision, threads FROM timings
      WHERE trial_id = 'demo-1/t01' ORDER BY latency_ms`);
    assert.deepEqual(both.rows.map((row) => Object.values(row)), [
      ["llama.cpp", 4.3, "f32", 2],
      ["openvino", 5, "f32", null],
    ]);
    const { rows: [own] } = await store.query(
      "SELECT latency_ms FROM leaderboard_wide WHERE trial_id = 'demo-1/t01'",
    );
    assert.equal(own!["latency_ms"], 5, "its own figure is the study's runtime's");
  }));
