/** What the store, the commands and the report keep of a study by hand and of what its gates decided. */
import assert from "node:assert/strict";
import type { GateDecision, JournalRecord } from "../../../core/mod.ts";
import { openLabStore } from "../../../tracker/lab/lab_store.ts";
import { gateBlocks } from "../../../tracker/show/reports/gate_blocks.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { endedBy } from "../../../tracker/show/view/ended_by.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { assertRebuilds } from "../../fixtures/stores/contents.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import {
  AT,
  STUDY,
  studyOpened,
  trial,
  trialId,
  trialRecords,
} from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const chain = [2, 1].map((n) => ({
  ...trial({ number: 1, accuracy: 0.7, latency_ms: 9, size_bytes: 9 }).actions[0]!,
  params: { bits: 4 * n, group_size: 32 },
}));

const gates: GateDecision[] = [
  {
    gate: "proxy_accuracy",
    decision: "roll_back",
    reason: "it fell too far",
    value: 0.4,
    threshold: 0.05,
    action_index: 0,
    attempt: 2,
    artifact_id: "a".repeat(16),
    parent_id: "f".repeat(16),
    adjustment: { bits: 8, group_size: 32 },
  },
  { gate: "proxy", decision: "pass", reason: "of an old record", value: null, threshold: null },
];

const figures = { number: 1, accuracy: 0.7, latency_ms: 9, size_bytes: 9 };

const records: JournalRecord[] = [
  studyOpened(),
  ...trialRecords({ ...figures, number: 0 }),
  { type: "pause_ended", at: AT, study_id: STUDY, seconds: 90.5 },
  ...trialRecords(figures).map((record): JournalRecord =>
    record.type === "trial_closed"
      ? { ...record, trial: { ...trial(figures), actions: chain, gates } }
      : record
  ),
  {
    type: "study_closed",
    at: AT,
    study_id: STUDY,
    stop: "by_hand",
    message: "The study was driven by hand and closed.",
    recommended: null,
  },
];

Deno.test("a gate's decision is kept with action, attempt, artifact, parent and adjustment", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, records);
    const { rows } = await store.query(`
      SELECT action_index, attempt, artifact_id, parent_id, adjustment FROM gate_decisions
      WHERE trial_id = '${trialId(1)}' ORDER BY gate_index`);
    const none = { action_index: null, attempt: null, artifact_id: null, parent_id: null };
    assert.deepEqual(rows, [
      {
        action_index: 0,
        attempt: 2,
        artifact_id: "a".repeat(16),
        parent_id: "f".repeat(16),
        adjustment: "bits=8, group_size=32",
      },
      { ...none, adjustment: null },
    ]);
    const kept = await store.journalOf(STUDY);
    const closed = kept.findLast((record) => record.type === "trial_closed");
    assert.deepEqual(closed?.type === "trial_closed" && closed.trial.gates, gates);
    const report = renderMarkdown(gateBlocks(await viewStudy(store, STUDY)));
    assert.match(
      report,
      /\| t01 \| 1 of 2: gptq \| a{16} \| f{16} \| proxy_accuracy \| roll back; attempt 2; bits=8, group_size=32 \| it fell too far \|/,
    );
    assert.doesNotMatch(report, /of an old record/);
  }));

Deno.test("a study by hand has its own stop reason, its pauses are events, and both are rebuilt", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, records);
    const [study] = await store.studies();
    assert.equal(study!.stop, "by_hand");
    assert.equal(`ended by ${endedBy(study!.stop)}`, "ended by whoever drove it by hand");
    assert.deepEqual([endedBy("gpu_hours"), endedBy(null)], ["gpu hours", null]);
    const { rows } = await store.query(
      "SELECT count(*) AS n FROM events WHERE type = 'pause_ended'",
    );
    assert.equal(rows[0]!["n"], 1);
    await assertRebuilds(store);
  }));

Deno.test("a study is open once in a lab, and a lab that is closed ends it", () =>
  inDirectory(async (root) => {
    await using store = openLabStore(root);
    const ends: string[] = [];
    const open = (study_id: string) =>
      store.use({
        study_id,
        end: async () => {
          ends.push(study_id);
          await used.get(study_id)!();
        },
      });
    const used = new Map<string, () => PromiseLike<void>>();
    for (const name of ["a", "b"]) {
      const inUse = await open(name);
      used.set(name, () => inUse[Symbol.asyncDispose]());
    }
    const twice = /Cannot open the study a as it is open in this lab: close\(\) it, or wait/;
    await assert.rejects(open("a"), twice);
    await used.get("a")!();
    const again = await open("a");
    used.set("a", () => again[Symbol.asyncDispose]());
    await store.endStudies();
    assert.deepEqual(ends, ["b", "a"]);
    await using other = await openStore(root, { write: true, wait_ms: 0 });
    assert.deepEqual(await other.studies(), [], "it was given back");
  }));
