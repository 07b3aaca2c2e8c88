import assert from "node:assert/strict";
import { JournalRecord } from "../../../core/mod.ts";
import { upgradeRecord } from "../../../tracker/store/journal/upgrade_record.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";

/** A record as version 7 wrote it: calls and numbers of actions were called `stage`. */
function asOfVersion7(record: JournalRecord): unknown {
  const text = JSON.stringify(record)
    .replaceAll('"action_evaluated"', '"stage_evaluated"')
    .replaceAll(/"(call|action_index)":/g, '"stage":');
  return JSON.parse(text, (key, value) => {
    if (key !== "failure" || value === null) return value;
    const { phase, ...rest } = value;
    return { ...rest, stage: phase };
  });
}

Deno.test("records of version 7, which said stage for calls and numbers, are read as they were meant", () => {
  let changed = 0;
  const failure = { kind: "crash", message: "m", hint: null, phase: "evaluate" } as const;
  const all = studyRecords();
  const closed = all.findLast((record) => record.type === "trial_closed")!;
  all.push({ ...closed, trial: { ...closed.trial, failure } });
  for (const record of all) {
    const old = asOfVersion7(record);
    const today = JournalRecord.parse(record);
    changed += JSON.stringify(old) === JSON.stringify(record) ? 0 : 1;
    assert.deepEqual(JournalRecord.parse(upgradeRecord(7, old)), today);
    assert.deepEqual(JournalRecord.parse(upgradeRecord(8, record)), today);
  }
  assert.ok(changed > 10, `only ${changed} records differ`);
});
