import assert from "node:assert/strict";
import type { JournalRecord } from "../../../core/mod.ts";
import { openedFirst } from "../../../tracker/session/start_study.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";

const ALERT: JournalRecord = {
  ...{ type: "alert", at: "2026-01-01T00:00:00.000Z", study_id: "demo-1", trial_id: null },
  ...{ condition: "fewer_calibration_windows", evidence: "58", action: "recorded" },
};

Deno.test("what a set-up says is recorded behind the study's opening, and not without it", async () => {
  const opening = studyRecords().find(({ type }) => type === "study_opened")!;
  const types = async (opened: boolean, given: readonly JournalRecord[]) => {
    const kept: string[] = [];
    const record = (one: JournalRecord) => Promise.resolve(void kept.push(one.type));
    const journal = openedFirst({ record }, opened);
    for (const one of given) await journal.record(one);
    return kept;
  };
  assert.deepEqual(await types(false, [ALERT]), [], "a study that is refused leaves nothing");
  assert.deepEqual(await types(false, [ALERT, opening, ALERT]), ["study_opened", "alert", "alert"]);
  assert.deepEqual(await types(true, [ALERT]), ["alert"], "one that goes on is open");
});
