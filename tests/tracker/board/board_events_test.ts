/** What a board tells of a journal while it is written, torn and followed again. */
import { journalOf } from "../../fixtures/stores/journals.ts";
import assert from "node:assert/strict";
import { appendFile, truncate } from "node:fs/promises";
import { eventsFrom, JournalWatch } from "../../../tracker/board/follow.ts";
import { eventStream } from "../../../tracker/board/api/events.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

interface Told {
  readonly position: number;
  readonly type: string;
  readonly study_id: string;
  readonly sentence: string | null;
}

/** The events of a stream, one at a time; beats and the rest of the protocol left out. */
async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Told> {
  let seen = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    const part = decoder.decode(bytes, { stream: true });
    seen += part;
    const blocks = seen.split("\n\n");
    seen = blocks.pop()!;
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield JSON.parse(data) as Told;
    }
  }
}

Deno.test("A board tells every record of a study once, those behind an event that is known first", () =>
  inDirectory(async (root) => {
    const watched = { root, study_id: STUDY };
    const watch = new JournalWatch();
    const ending = new AbortController();
    const open = (from: number | null) =>
      eventsOf(eventStream(watch, watched, from, ending.signal));
    const early = open(null); // before there is a journal
    const records = studyRecords();
    const first = early.next();
    await using store = await openStore(root, { write: true });
    await store.record(records[0]!);
    await store.record(studyRecords("other")[0]!);
    const opened = (await first).value as Told;
    assert.deepEqual([opened.type, opened.sentence], ["study_opened", `study ${STUDY} begins`]);
    for (const record of records.slice(1)) await store.record(record);
    const told: Told[] = [opened];
    while (told.at(-1)!.type !== "study_closed") told.push((await early.next()).value as Told);
    assert.deepEqual(told.map(({ type }) => type), records.map(({ type }) => type));
    assert.ok(told.every(({ study_id }) => study_id === STUDY));
    const sentences = told.map(({ sentence }) => sentence);
    assert.ok(sentences.includes("t01 begins: gptq"));
    assert.ok(sentences.includes("alert: memory nearly full: 0.4 GB free"));
    // A page that lost its connection names the last event that it had.
    const late = open(told[5]!.position);
    const again: Told[] = [];
    while (again.at(-1)?.type !== "study_closed") again.push((await late.next()).value as Told);
    assert.deepEqual(again, told.slice(6));
    ending.abort();
    assert.equal((await early.next()).done, true);
    assert.equal((await late.next()).done, true);
  }));

Deno.test("A journal's torn end is no event, and points are passed over once", () =>
  inDirectory(async (root) => {
    const journal = journalOf(root);
    const watched = { root, study_id: STUDY };
    {
      await using store = await openStore(root, { write: true });
      const [opened, begun] = studyRecords();
      await store.record(opened!);
      await store.record(begun!);
      const run = store.openRun({ study_id: STUDY, trial_id: `${STUDY}/t00` });
      await run.log({ loss: 1 }, { step: 1 });
    }
    const { events, next } = await eventsFrom(watched, 0);
    assert.deepEqual(events.map(({ type }) => type), ["study_opened", "trial_opened"]);
    const { size } = await Deno.stat(journal);
    assert.equal(next, size);
    await appendFile(journal, "1 0000ffff 00000000 {");
    assert.deepEqual(await eventsFrom(watched, next), { events: [], next });
    await truncate(journal, size);
    assert.deepEqual(await eventsFrom({ root, study_id: "none" }, 0), { events: [], next: 0 });
  }));
