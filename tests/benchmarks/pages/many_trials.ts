/** A study of many trials in a store, recorded through the journal as a run records it. */
import type { JournalRecord } from "../../../core/mod.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { studyOpened, trialRecords } from "../../fixtures/stores/records.ts";

/** A number in [0, 1) that looks like chance, the same for the same trial. */
function figure(number: number, place: number): number {
  let mixed = Math.imul(number * 8 + place + 1, 0x9e3779b1) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0;
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
}

/** Every record of one trial: opened, artifact, measurements, alert, energy, closed, episode. */
export function recordsOf(study_id: string, number: number): JournalRecord[] {
  const [quality, cost] = [figure(number, 0), figure(number, 1)];
  return trialRecords({
    ...{ study_id, number, latency_ms: 4 + 6 * cost },
    // Less cost takes quality, so that a front has members.
    accuracy: 0.4 + 0.25 * Math.sqrt(cost) + 0.15 * quality,
    size_bytes: Math.round(50_000 + 150_000 * cost),
  });
}

/** Records a study with this many finished trials into the store, which need not exist yet. */
export async function manyTrials(root: string, study_id: string, trials: number): Promise<void> {
  await using store = await openStore(root, { write: true });
  await store.record(studyOpened(study_id));
  for (let first = 0; first < trials; first += 250) {
    const numbers = Array.from({ length: Math.min(250, trials - first) }, (_, at) => first + at);
    const records = numbers.flatMap((number) => recordsOf(study_id, number));
    await Promise.all(records.map((record) => store.record(record)));
  }
  await store.record({
    ...{ type: "study_closed", at: "2026-03-02T12:00:00.000Z", study_id, stop: "max_trials" },
    ...{ message: `${trials} trials were asked for`, recommended: null },
  });
  await store.flush({ wait_ms: 600_000 });
}
