/** Stores of another pare, and studies of one objective alone, on the board: pages, or one sentence. */
import { journalOf } from "../../fixtures/stores/journals.ts";
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import type { JournalRecord } from "../../../core/mod.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { type TestBoard, testBoard } from "../../fixtures/stores/board.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

/** A record of a version that does not exist yet, as a journal has it: under its checksum. */
function newerLine(version: number): string {
  const payload = new TextEncoder().encode('{"type":"tomorrow","study_id":"demo-1"}');
  const hex = (value: number) => (value >>> 0).toString(16).padStart(8, "0");
  const sum = crc32(payload, crc32(String(version)));
  return `${version} ${hex(payload.length)} ${hex(sum)} ${new TextDecoder().decode(payload)}\n`;
}

async function recorded(at: string, records: readonly JournalRecord[]): Promise<void> {
  await using store = await openStore(at, { write: true });
  await Promise.all(records.map((record) => store.record(record)));
  await store.flush({ wait_ms: 60_000 });
}

const page = async (test: TestBoard, path: string) => {
  const answer = await test.ask(path, { headers: { accept: "text/html" } });
  return { status: answer.status, text: await answer.text() };
};

/** A refusal that says what is wrong with the store, on a page and as JSON. */
async function refused(test: TestBoard): Promise<void> {
  const sentence = /newer pare wrote it \(record version 99\); update pare/;
  for (const path of ["/", `/studies/${STUDY}`]) {
    const { status, text } = await page(test, path);
    assert.equal(status, 400, `${path}: ${text.slice(0, 500)}`);
    assert.match(text, sentence);
    assert.doesNotMatch(text, /something is wrong in pare| at file:/);
  }
  const { status, body } = await test.json("/api/studies");
  assert.equal(status, 400);
  assert.match((body as { error: string }).error, sentence);
}

Deno.test("A journal of a newer pare is told of in one sentence, alone and behind records that are known", () =>
  inDirectory(async (root) => {
    const alone = join(root, "alone");
    await Deno.mkdir(dirname(journalOf(alone)), { recursive: true });
    await Deno.writeTextFile(journalOf(alone), newerLine(99));
    {
      await using test = testBoard([alone]);
      await refused(test);
    }
    // What was indexed before somebody wrote to it with a newer pare is still shown, or refused in words.
    const behind = join(root, "behind");
    await recorded(behind, studyRecords());
    await Deno.writeTextFile(journalOf(behind), newerLine(99), { append: true });
    {
      await using test = testBoard([behind]);
      await refused(test);
    }
    // Beside a store that this pare reads it hides nothing, and a program is told that something is missing.
    const other = join(root, "other");
    await recorded(other, studyRecords("readable"));
    await using test = testBoard([behind, other]);
    const { status, text } = await page(test, "/");
    assert.equal(status, 200, text.slice(0, 500));
    assert.match(text, /class="refusal">Cannot read [^<]*newer pare wrote it/);
    assert.match(text, /href="\/studies\/readable"/);
    assert.match(text, />store<\/th>/, "each study says its store");
    assert.equal((await page(test, "/studies/readable")).status, 200);
    assert.match((await page(test, `/studies/${STUDY}`)).text, /newer pare wrote it/);
    assert.equal((await test.json("/api/studies")).status, 400);
  }));

/** The study of the tests, with a front of one metric as other programs may have written it. */
function ofOne(study_id: string, metric: string): JournalRecord[] {
  return studyRecords(study_id).map((record): JournalRecord => {
    if (record.type !== "study_opened") return record;
    const { spec } = record;
    const objectives = spec.objectives.filter((one) => one.metric === metric);
    return { ...record, spec: { ...spec, objectives } };
  });
}

Deno.test("A study of one objective has its pages, and is begun by nobody: a sentence says what a front takes", () =>
  inDirectory(async (root) => {
    const at = join(root, "store");
    await recorded(at, [...ofOne("right", "accuracy"), ...ofOne("small", "size_bytes")]);
    await using test = testBoard([at]);
    for (const study of ["right", "small"]) {
      for (const path of ["", "/trials/t01", "?objectives=x"]) {
        const { status, text } = await page(test, `/studies/${study}${path}`);
        assert.ok(status === 200 || path.startsWith("?"), `${path}: ${text.slice(0, 500)}`);
        assert.doesNotMatch(text, /something is wrong in pare|NaN|undefined/);
      }
      assert.match(await (await test.ask(`/api/studies/${study}/figures/pareto`)).text(), /^<svg/);
      await test.json(`/api/studies/${study}/weigh?weights=accuracy=1`);
    }
    const { body } = await test.json("/api/studies/right/front");
    const members = JSON.stringify(body);
    assert.match(members, /right\/t00/, "the original is the most often right");
    const asked = JSON.stringify({ model_name: "tiny", dataset: "tiny", front: ["accuracy"] });
    const { status, body: said } = await test.json("/api/studies", { method: "POST", body: asked });
    assert.equal(status, 400);
    assert.match((said as { error: string }).error, /front.*takes two to six objectives/);
  }));
