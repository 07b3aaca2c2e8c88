/** A study of two trials with points and notes: from an empty folder to a closed store. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { JournalRecord } from "../../../core/mod.ts";
import { appendTo } from "../../../tracker/store/journal/journal.ts";
import { readJournal } from "../../../tracker/store/journal/reader.ts";
import { tryRunWriter } from "../../../tracker/store/shelf/run_writer.ts";
import { checkFormat } from "../../../tracker/store/store_format.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { runPaths } from "../../../tracker/store/store_paths.ts";
import { AT, STUDY, studyRecords, trialId } from "../../fixtures/stores/records.ts";
import { numbered } from "../../fixtures/stores/kill_rounds.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { acknowledge, inEmpty, numbersOf, type Workload } from "./workload.ts";

const all = studyRecords();
const first = all.findIndex((one) => one.type === "trial_closed");
/** Up to the end of the second trial, and the study's end. */
const RECORDS: readonly JournalRecord[] = [
  ...all.slice(0, all.findIndex((one, n) => n > first && one.type === "trial_closed") + 1),
  all.at(-1)!,
];
const NOTES = 3;

function note(n: number): JournalRecord {
  const text = `note ${n}`;
  return {
    type: "note",
    at: AT,
    study_id: STUDY,
    trial_id: null,
    note_id: text,
    text,
  } as JournalRecord;
}

/** Every fourth record shares its write with the one before. */
async function work(root: string): Promise<void> {
  await using store = await openStore(root, { write: true });
  using _quiet = store.pauseSink();
  await store.take(STUDY);
  let notes = 0;
  for (let n = 0; n < RECORDS.length; n++) {
    if (n % 4 === 2 && n + 1 < RECORDS.length) {
      await Promise.all([store.record(RECORDS[n]!), store.record(RECORDS[n + 1]!)]);
      acknowledge(`record ${n}`);
      acknowledge(`record ${++n}`);
      continue;
    }
    await store.record(RECORDS[n]!);
    acknowledge(`record ${n}`);
    if (n % 5 === 0 && notes < NOTES) {
      await appendTo(runPaths(root, STUDY).journal, note(notes));
      acknowledge(`note ${notes++}`);
    }
    if (n === 6) {
      const run = store.openRun({ study_id: STUDY, trial_id: trialId(0) });
      const logged = [0, 1, 2, 3].map((step) => run.log({ loss: 1 / (1 + step) }, { step }));
      await Promise.all(logged);
      acknowledge("points 4");
    }
  }
  Deno.exit(0); // its index is derived: no part of this
}

/** Opens what lies there for writing, and writes one record. */
async function started(root: string) {
  checkFormat(root, true);
  const writer = tryRunWriter(root, STUDY);
  assert.ok(writer !== null, "a run that nobody writes cannot be written");
  const { torn } = writer.journal;
  await writer.journal.append(numbered(7));
  await writer.close();
  return { torn };
}

/** Each takes a second: of every so many states the index is looked at, too. */
const INDEXED = 60;

export const journalWorkload: Workload = {
  name: "journal",
  script: import.meta.filename!,
  adds_up: true,
  async check(root, acknowledged, nth) {
    const began = performance.now();
    const { torn } = await started(root);
    const took_ms = performance.now() - began;
    if (torn !== null) sometimes("a power cut leaves a torn journal");
    const { journal } = runPaths(root, STUDY);
    const found: JournalRecord[] = [];
    for await (const entry of readJournal(journal)) {
      if (entry.kind === "record") found.push(entry.record);
      else {assert.fail(
          `what was never acknowledged is left as ${entry.kind}: ${JSON.stringify(entry)}`,
        );}
    }
    assert.deepEqual(found.at(-1), numbered(7), "the next record is lost");
    const points = found.reduce((sum, one) => sum + (one.type === "points" ? one.rows : 0), 0);
    for (const due of numbersOf(acknowledged, "points")) {
      assert.ok(points >= due, "points are lost");
    }
    const rest = found.slice(0, -1).filter(({ type }) => type !== "points");
    const read = (some: readonly JournalRecord[]) => some.map((one) => JSON.stringify(one));
    const isOwn = (one: JournalRecord) => one.type === "note" && /^note \d$/.test(one.note_id);
    const notes = rest.filter(isOwn);
    const others = rest.filter((one) => !isOwn(one));
    const sent = read(RECORDS.map((one) => JournalRecord.parse(one)));
    const due = (word: string, from: readonly string[]) =>
      numbersOf(acknowledged, word).map((n) => from[n]!);
    const noted = Array.from(
      { length: NOTES },
      (_, n) => JSON.stringify(JournalRecord.parse(note(n))),
    );
    await holdInvariants({
      records: { read: read(others), sent, acknowledged: due("record", sent) },
      start: { took_ms, ofEmpty: () => inEmpty(root, started) },
    });
    await holdInvariants({
      records: { read: read(notes), sent: noted, acknowledged: due("note", noted) },
    });
    const opened = others.some(({ type }) => type === "study_opened");
    if (nth % INDEXED !== 0 || !opened || !existsSync(join(root, "runs"))) return;
    await holdInvariants({ index: root });
    sometimes("an index is made after a power cut");
  },
};

if (import.meta.main) await work(Deno.args[0]!);
