/**
 * The board over a store with a million samples: a trial's page shows a page of those that were won and lost,
 * with their prompts, whichever page is asked for, and holds no more of them in memory than that.
 */
import { DuckDBInstance } from "@duckdb/node-api";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { parseHTML } from "linkedom";
import type { JournalRecord } from "../../core/mod.ts";
import { openStore } from "../../tracker/store/store.ts";
import { storePaths } from "../../tracker/store/store_paths.ts";
import { testBoard } from "../fixtures/stores/board.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../fixtures/stores/records.ts";

const SAMPLES = 500_000;
/** Every so many samples one is lost, and one is won. */
const EVERY = 5;
const TASK = "own_rows";

/** A file of questions as a user has one; the row's number stands in each. */
async function writeQuestions(path: string): Promise<string> {
  const lines = Array.from(
    { length: SAMPLES },
    (_, row) =>
      JSON.stringify({
        prompt: `Question ${row}: <b>what</b> is ${row} × 2?`,
        answer: `${2 * row}`,
      }),
  );
  const text = `${lines.join("\n")}\n`;
  await Deno.writeTextFile(path, text);
  return createHash("sha256").update(text).digest("hex");
}

/** Two trials of one study, each with its answer to every question, put into the tables at once. */
async function recorded(root: string): Promise<string> {
  const at = join(root, "store");
  const dataset = join(root, "questions.jsonl");
  const sha256 = await writeQuestions(dataset);
  const asked = {
    dataset,
    kind: "file",
    path: dataset,
    format: "prompt_answer",
    rows: SAMPLES,
    sha256,
  } as const;
  const records = studyRecords().map((record): JournalRecord =>
    record.type === "study_opened"
      ? {
        ...record,
        request: { ...record.request, dataset },
        facts: { ...record.facts, dataset: asked },
      }
      : record
  );
  {
    await using store = await openStore(at, { write: true });
    await Promise.all(records.map((record) => store.record(record)));
    await store.flush({ wait_ms: 60_000 });
  }
  const database = await DuckDBInstance.create(storePaths(at).database);
  const connection = await database.connect();
  // The original is right on all but every fifth; the trial loses the next one and wins that one.
  for (const [trial, right] of [["t00", `r % ${EVERY} <> 0`], ["t01", `r % ${EVERY} <> 1`]]) {
    const names = `'${STUDY}', '${STUDY}/${trial}', 'full', '${TASK}'`;
    await connection.run(`INSERT INTO samples BY NAME
      SELECT '${STUDY}' AS study_id, '${STUDY}/${trial}' AS trial_id, 'full' AS fidelity,
        '${TASK}' AS task, r::VARCHAR AS sample_id, md5(r::VARCHAR) AS sample_hash, '' AS prompt_hash,
        (${right})::INT AS score, 'answer of ${trial} to ' || r AS answer, (2 * r)::VARCHAR AS gold
      FROM range(${SAMPLES}) x(r)`);
    await connection.run(`INSERT INTO protocols VALUES (${names}, 'p')`);
  }
  connection.closeSync();
  database.closeSync();
  return at;
}

Deno.test("a board over a million samples pages through those won and lost, with their prompts", () =>
  inDirectory(async (root) => {
    await using test = testBoard([await recorded(root)]);
    const times: string[] = [];
    const page = async (query: string) => {
      const began = performance.now();
      const answer = await test.ask(`/studies/${STUDY}/trials/t01${query}`);
      const text = await answer.text();
      times.push(`${query || "first"} ${((performance.now() - began) / 1000).toFixed(2)} s`);
      assert.equal(answer.status, 200, text.slice(0, 300));
      return { text, document: parseHTML(text).document };
    };
    const rowsOf = (document: Document) => {
      const table = [...document.querySelectorAll("table")]
        .find((one) => /^Samples /.test(one.querySelector("caption")?.textContent?.trim() ?? ""));
      return [...table!.querySelectorAll("tbody tr")].map((row) =>
        row.textContent!.replace(/\s+/g, " ")
      );
    };
    await page("");
    const before = Deno.memoryUsage().rss;
    const { text, document } = await page("");
    const first = rowsOf(document);
    assert.ok(first.length > 1 && first.length <= 100, `${first.length} rows`);
    assert.ok(text.length < 300_000, `a page of ${text.length} characters`);
    assert.match(text, /200[.,]?000/, "how many differ in all");
    assert.match(first[0]!, /Question 0: <b>what<\/b> is 0 × 2\?/, "escaped, so that it is text");
    assert.match(text, /Question 0: &lt;b&gt;what/);
    const lost = rowsOf((await page("?which=lost&page=1000")).document);
    const size = lost.length;
    const number = (row: string) => Number(/Question (\d+):/.exec(row)?.[1]);
    assert.equal(number(lost[0]!), 999 * size * EVERY + 1, "in the order of the file");
    assert.ok(lost.every((row) => number(row) % EVERY === 1));
    const [all, per] = [SAMPLES / EVERY, size];
    const final = rowsOf((await page(`?which=won&page=${Math.ceil(all / per)}`)).document);
    assert.equal(number(final.at(-1)!), SAMPLES - EVERY, "the last page has the last of them");
    const behind = (await page("?which=won&page=999999")).text.replace(/\s+/g, " ");
    assert.doesNotMatch(behind, /Question \d/);
    assert.match(behind, /page 999999 of \d+, 100000 in all/);
    assert.match(
      behind,
      new RegExp(`page=${Math.ceil(all / per)}#samples">Previous`),
      "the last page",
    );
    for (const path of [`/studies/${STUDY}`, "/"]) {
      const began = performance.now();
      await (await test.ask(path)).text();
      times.push(`${path} ${((performance.now() - began) / 1000).toFixed(2)} s`);
    }
    const grown = (Deno.memoryUsage().rss - before) / 1e6;
    console.log(`${times.join(", ")}; ${grown.toFixed(0)} MB more`);
    assert.ok(grown < 200, `five pages took ${grown} MB`);
  }));
