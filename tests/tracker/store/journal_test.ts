import assert from "node:assert/strict";
import { denoWords, startProgram } from "../../fixtures/programs.ts";
import { join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import { appendTo, openJournal } from "../../../tracker/store/journal/journal.ts";
import { readJournal } from "../../../tracker/store/journal/reader.ts";
import {
  encodeLine,
  type Entry,
  firstFields,
  fromJson,
  toJson,
} from "../../../tracker/store/journal/record_line.ts";
import {
  measurement,
  STUDY,
  studyOpened,
  studyRecords,
  trialId,
} from "../../fixtures/stores/records.ts";

const encoder = new TextEncoder();

async function inDirectory(work: (path: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "pare-journal-" });
  try {
    await work(join(directory, "journal.jsonl"));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function entries(path: string, range: { from?: number; to?: number } = {}): Promise<Entry[]> {
  return await Array.fromAsync(readJournal(path, range));
}

function recordsOf(found: readonly Entry[]): JournalRecord[] {
  return found.flatMap((entry) => entry.kind === "record" ? [entry.record] : []);
}

function alert(n: number): JournalRecord {
  return {
    type: "alert",
    at: "2026-03-01T12:00:00Z",
    study_id: STUDY,
    trial_id: trialId(n),
    condition: "test",
    evidence: String(n),
    action: "none",
  };
}

async function write(path: string, records: readonly JournalRecord[]): Promise<void> {
  const journal = openJournal(path);
  await Promise.all(records.map((record) => journal.append(record)));
  await journal.close();
}

Deno.test("openJournal() gives back every record of a study in order", () =>
  inDirectory(async (path) => {
    const records = studyRecords();
    await write(path, records.slice(0, 5));
    await write(path, records.slice(5));
    assert.deepEqual(recordsOf(await entries(path)), records);
  }));

Deno.test("appendTo() beside an open journal: each has its turn, and nothing is lost or written over", () =>
  inDirectory(async (path) => {
    const journal = openJournal(path);
    const work: Promise<void>[] = [];
    for (let n = 0; n < 60; n++) {
      work.push(n % 3 === 0 ? appendTo(path, alert(n)) : journal.append(alert(n)));
      if (n % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(work);
    await journal.append(alert(60));
    await journal.close();
    const found = await entries(path);
    assert.ok(found.every(({ kind }) => kind === "record"));
    const numbers = recordsOf(found).map((record) =>
      record.type === "alert" ? record.evidence : ""
    );
    assert.deepEqual(
      numbers.map(Number).sort((a, b) => a - b),
      Array.from({ length: 61 }, (_, n) => n),
    );
    const own = numbers.map(Number).filter((n) => n % 3 !== 0 || n === 60);
    assert.deepEqual(own, own.toSorted((a, b) => a - b), "one writer's records keep their order");
  }));

Deno.test("what another process appended stays where it cannot be read for a moment", () =>
  inDirectory(async (path) => {
    const journal = openJournal(path);
    await journal.append(alert(0));
    await appendTo(path, alert(1));
    const seek = Deno.FsFile.prototype.seekSync;
    Deno.FsFile.prototype.seekSync = () => {
      throw Object.assign(new Error("Input/output error (os error 5)"), { code: "EIO" });
    };
    try {
      await assert.rejects(journal.append(alert(2)), /the disk failed/);
    } finally {
      Deno.FsFile.prototype.seekSync = seek;
    }
    assert.deepEqual(recordsOf(await entries(path)), [alert(0), alert(1)]);
    await journal.append(alert(3));
    await journal.close();
    assert.deepEqual(recordsOf(await entries(path)), [alert(0), alert(1), alert(3)]);
  }));

Deno.test("readJournal() goes on from an entry's next place and stops at `to`", () =>
  inDirectory(async (path) => {
    await write(path, [alert(0), alert(1), alert(2)]);
    const all = await entries(path);
    assert.deepEqual(recordsOf(await entries(path, { from: all[0]!.next })), [alert(1), alert(2)]);
    assert.deepEqual(recordsOf(await entries(path, { to: all[1]!.next })), [alert(0), alert(1)]);
    assert.deepEqual(recordsOf(await entries(path, { to: all[1]!.next - 1 })), [alert(0)]);
  }));

Deno.test("openJournal() cut at every byte of its last record loses that record only", () =>
  inDirectory(async (path) => {
    // Longer than what follows it, so that a tail that is not cut would show behind that.
    await write(path, [alert(0), { ...alert(1), evidence: "long ".repeat(20) } as JournalRecord]);
    const whole = await Deno.readFile(path);
    const start = (await entries(path))[1]!.offset;
    for (let end = start; end < whole.length; end++) {
      await Deno.writeFile(path, whole.subarray(0, end));
      const journal = openJournal(path);
      assert.equal(journal.torn === null, end === start);
      await journal.append(alert(7));
      await journal.close();
      assert.equal((await Deno.stat(path)).size, journal.end);
      assert.deepEqual(recordsOf(await entries(path)), [alert(0), alert(7)], `cut at ${end}`);
      if (journal.torn === null) continue;
      assert.deepEqual(await Deno.readFile(journal.torn), whole.subarray(start, end));
      await Deno.remove(journal.torn);
    }
  }));

Deno.test("readJournal() reports every flipped bit of a middle record and keeps its neighbours", () =>
  inDirectory(async (path) => {
    await write(path, [alert(0), alert(1), alert(2)]);
    const whole = await Deno.readFile(path);
    const [, middle] = await entries(path);
    for (let at = middle!.offset; at < middle!.next - 1; at++) {
      const bytes = whole.slice();
      bytes[at] = bytes[at]! ^ (1 << (at % 7));
      await Deno.writeFile(path, bytes);
      const found = await entries(path);
      assert.deepEqual(recordsOf(found), [alert(0), alert(2)], `byte ${at}`);
      assert.ok(found.some((entry) => entry.kind === "damaged"), `byte ${at}`);
    }
  }));

Deno.test("readJournal() names the trial of a damaged record", () =>
  inDirectory(async (path) => {
    await write(path, [alert(0), alert(1), alert(2)]);
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replace('"evidence":"1"', '"evidence":"9"'));
    const damaged = (await entries(path))[1]!;
    assert.equal(damaged.kind, "damaged");
    assert.equal(damaged.kind === "damaged" && damaged.trial_id, trialId(1));
  }));

Deno.test("readJournal() keeps both records around a flipped newline", () =>
  inDirectory(async (path) => {
    await write(path, [alert(0), alert(1)]);
    const bytes = await Deno.readFile(path);
    bytes[(await entries(path))[0]!.next - 1] = 0x0b;
    await Deno.writeFile(path, bytes);
    assert.deepEqual(recordsOf(await entries(path)), [alert(0), alert(1)]);
  }));

Deno.test("readJournal() says that a record is of a newer version instead of guessing", () =>
  inDirectory(async (path) => {
    await write(path, [alert(0)]);
    const { crc32 } = await import("node:zlib");
    const payload = encoder.encode('{"type":"of the future"}');
    const hex = (n: number): string => (n >>> 0).toString(16).padStart(8, "0");
    const head = `9 ${hex(payload.length)} ${hex(crc32(payload, crc32("9")))} `;
    await Deno.writeTextFile(path, `${head}{"type":"of the future"}\n`, { append: true });
    const last = (await entries(path))[1]!;
    assert.deepEqual([last.kind, last.kind === "newer" && last.version], ["newer", 9]);
  }));

Deno.test("toJson() and fromJson() keep every number and every text that looks like one", () => {
  const texts = [
    "NaN",
    "'NaN",
    "''Infinity",
    "-Infinity",
    "Infinity",
    "",
    "'",
    "nan",
    "\n",
    "\u2028",
  ];
  const numbers = [NaN, Infinity, -Infinity, 0, 1e308, 5e-324, 0.1, -1.5, 2 ** 53 - 1];
  const value = { texts, numbers, nested: { NaN: "NaN", list: [NaN, "NaN", null, true] } };
  assert.deepEqual(fromJson(toJson(value)), value);
});

Deno.test("Journal.append() keeps NaN and infinities as they were measured", () =>
  inDirectory(async (path) => {
    const record: JournalRecord = {
      type: "measured",
      at: "2026-03-01T12:00:00Z",
      study_id: STUDY,
      trial_id: trialId(1),
      measurements: [NaN, Infinity, -Infinity].map((value) =>
        measurement("perplexity", value, { method: "NaN" })
      ),
    };
    await write(path, [record]);
    assert.deepEqual(recordsOf(await entries(path)), [record]);
  }));

Deno.test("Journal.append() refuses a record that its schema does not know", () =>
  inDirectory(async (path) => {
    const journal = openJournal(path);
    const wrong = { ...alert(1), evidence: 5 } as unknown as JournalRecord; // wrong on purpose
    await assert.rejects(journal.append(wrong), /Cannot record alert as evidence is wrong/);
    await journal.append(alert(2));
    await journal.close();
    assert.deepEqual(recordsOf(await entries(path)), [alert(2)]);
  }));

Deno.test("readJournal() reads a record of several megabytes", () =>
  inDirectory(async (path) => {
    const long = { ...alert(1), evidence: "long ".repeat(700_000) } as JournalRecord;
    await write(path, [alert(0), long, alert(2)]);
    assert.deepEqual(recordsOf(await entries(path)), [alert(0), long, alert(2)]);
  }));

Deno.test("Journal.append() refuses a record of 100 MB in a sentence and goes on", () =>
  inDirectory(async (path) => {
    const journal = openJournal(path);
    const huge = { ...alert(1), evidence: "x".repeat(100e6) } as JournalRecord;
    await assert.rejects(
      journal.append(huge),
      /Cannot record alert as it has 95.4 MiB, of at most/,
    );
    const longest = { ...alert(1), evidence: "é".repeat(30e6) } as JournalRecord;
    await Promise.all([journal.append(longest), journal.append(alert(2))]);
    await journal.close();
    const found = recordsOf(await entries(path));
    assert.equal(found.length, 2);
    assert.ok(found[0]!.type === "alert" && found[0].evidence.length === 30e6);
    assert.deepEqual(found[1], alert(2));
  }));

Deno.test("readJournal() passes over whole records of a type, not over damaged ones", () =>
  inDirectory(async (path) => {
    await write(path, [alert(0), ...studyRecords().slice(0, 2), alert(1), alert(2)]);
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replace('"evidence":"1"', '"evidence":"9"'));
    const found = await Array.fromAsync(readJournal(path, { without: "alert" }));
    assert.deepEqual(found.map(({ kind }) => kind), ["record", "record", "damaged"]);
    assert.deepEqual(recordsOf(found), studyRecords().slice(0, 2));
  }));

Deno.test("firstFields() says what readEntry() would, or nothing", () => {
  const opened = encodeLine(studyOpened());
  const line = new Uint8Array([...opened, ...encodeLine(alert(1))]);
  const { type, at } = studyOpened();
  assert.deepEqual(firstFields(line), { type, at });
  assert.deepEqual(firstFields(opened), { type, at });
  // Each byte of the header and a hundred others, every cut: nothing, rather than something wrong.
  for (let place = 0; place < opened.length - 1; place += place < 40 ? 1 : 17) {
    const flipped = line.slice();
    flipped[place]! ^= 1;
    assert.equal(firstFields(flipped), null, `flipped at ${place}`);
    assert.equal(firstFields(line.subarray(0, place)), null, `cut at ${place}`);
  }
});

Deno.test("encodeLine() writes one line, whatever the text holds", () => {
  const line = encodeLine({ ...studyOpened(), study_id: "a\nb\r\u2028" } as JournalRecord);
  assert.equal(line.filter((byte) => byte === 0x0a).length, 1);
  assert.equal(line.at(-1), 0x0a);
});

const CHILD = `
import { appendTo, openJournal } from ${
  JSON.stringify(import.meta.resolve("../../../tracker/store/journal/journal.ts"))
};
const journal = openJournal(Deno.args[0]);
for (let n = Number(Deno.args[1]);; n++) {
  const batch = [0, 1, 2].map((k) => journal.append({ type: "alert", at: "now", study_id: "s",
    trial_id: null, condition: "c", evidence: String(3 * n + k), action: "x".repeat(200) }));
  await Promise.all(batch);
  Deno.stdout.writeSync(new TextEncoder().encode((3 * n + 2) + "\\n"));
}`;

/** Lets the child append until it has acknowledged `count` lines and some time has gone. */
async function killAfter(
  script: string,
  path: string,
  from: number,
  count: number,
): Promise<number> {
  const child = startProgram(denoWords(script, path, `${from}`));
  let acknowledged = -1;
  for (let line = await child.line(); line !== null; line = await child.line()) {
    acknowledged = Number(line);
    if (acknowledged >= 3 * (from + count)) child.signal("SIGKILL");
  }
  return acknowledged;
}

Deno.test("kill -9 of the writer in the middle of appends loses nothing acknowledged", () =>
  inDirectory(async (path) => {
    const script = `${path}.child.ts`;
    await Deno.writeTextFile(script, CHILD);
    let from = 0;
    for (const count of [3, 40, 150]) {
      const acknowledged = await killAfter(script, path, from, count);
      const journal = openJournal(path);
      await journal.close();
      const found = await entries(path);
      assert.ok(found.every((entry) => entry.kind === "record"));
      const numbers = recordsOf(found).map((one) =>
        one.type === "alert" ? Number(one.evidence) : -1
      );
      assert.ok(numbers.length > acknowledged, `${numbers.length} of ${acknowledged + 1}`);
      assert.deepEqual(new Set(numbers).size, numbers.length);
      for (let n = 0; n <= acknowledged; n++) assert.equal(numbers[n], n);
      // The next round goes on behind everything that is there, acknowledged or not.
      from = Math.ceil((Math.max(...numbers) + 1) / 3);
      if (numbers.length % 3 !== 0) {
        await write(
          path,
          Array.from({ length: 3 - numbers.length % 3 }, (_, k) => ({
            ...alert(0),
            evidence: String(numbers.length + k),
          } as JournalRecord)),
        );
      }
    }
  }));
