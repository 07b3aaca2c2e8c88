import assert from "node:assert/strict";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import {
  STUDY,
  studyOpened,
  trial,
  trialId,
  trialRecords,
} from "../../../fixtures/stores/records.ts";

const HOUR = 3_600_000;

/** A moment of the clock, so many milliseconds later; the hour that was set back comes off. */
function at(milliseconds: number): string {
  return new Date(Date.parse("2026-03-01T12:00:00.000Z") + milliseconds).toISOString();
}

Deno.test("A clock set back an hour changes no order, no verdict and makes no negative duration", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const figures = { accuracy: 0.7, latency_ms: 5, size_bytes: 5 };
    await store.record(studyOpened());
    for (const number of [0, 1, 2]) {
      // The clock is set back in the middle of trial 1.
      const [opened, ...rest] = trialRecords({ number, ...figures });
      const begun = number * 60_000 - (number > 1 ? HOUR : 0);
      const ended = (number + 1) * 60_000 - (number > 0 ? HOUR : 0);
      const closed = trial({ number, ...figures });
      await store.record({ ...opened!, at: at(begun) } as typeof opened & object);
      for (const record of rest) {
        await store.record(
          record.type === "trial_closed"
            ? { ...record, trial: { ...closed, started_at: at(begun), finished_at: at(ended) } }
            : { ...record, at: at(ended) },
        );
      }
    }
    await store.flush();
    const { rows } = await store.query(
      "SELECT trial_id, seconds, state FROM trials ORDER BY position",
    );
    assert.deepEqual(rows.map((row) => row["trial_id"]), [0, 1, 2].map((n) => trialId(n)));
    assert.deepEqual(rows.map((row) => row["state"]), Array(3).fill("completed"));
    for (const { seconds } of rows) {
      assert.ok(seconds === null || Number(seconds) >= 0, `${seconds}`);
    }
    const records = await store.journalOf(STUDY);
    const closed = records.flatMap((one) => one.type === "trial_closed" ? [one.trial.number] : []);
    assert.deepEqual(closed, [0, 1, 2]);
    const { rows: episodes } = await store.query("SELECT number FROM episodes ORDER BY position");
    assert.deepEqual(episodes, [{ number: 0 }, { number: 1 }, { number: 2 }]);
  }));
