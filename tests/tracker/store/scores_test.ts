/** What scorers beside a task's own made of kept answers, in the store. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AnswersScored, JournalRecord, ScoreRow, VerdictRow } from "../../../core/mod.ts";
import { checkStore } from "../../../tracker/artifacts/check_store.ts";
import { readSamples } from "../../../tracker/store/rows/sample_file.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, measurement, STUDY, studyOpened, trialId } from "../../fixtures/stores/records.ts";

const TASK = "truthfulqa_generation";
const OWN = { study_id: STUDY, trial_id: trialId(0), fidelity: "full" };
/** Written by 965dafdc, when a judge's verdicts stood with each sample. */
const JUDGED = new URL("../../fixtures/samples/judged_before_verdicts.parquet", import.meta.url);

async function sha256(path: string): Promise<string> {
  return createHash("sha256").update(await readFile(path)).digest("hex");
}

async function samplesWritten(store: Store): Promise<JournalRecord> {
  const { relative, absolute } = store.samplesPath(STUDY, trialId(0), "full");
  await copyFile(JUDGED, absolute);
  return {
    type: "samples_written",
    at: AT,
    ...OWN,
    path: relative,
    rows: 4,
    sha256: await sha256(absolute),
  };
}

/** Rows as a file of the store. */
async function kept(root: string, path: string, rows: readonly unknown[]) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return { path, rows: rows.length, sha256: await sha256(join(root, path)) };
}

function scoreRow(sample_id: number, score: number | null): ScoreRow {
  return {
    ...{ task: TASK, sample_id: String(sample_id), sample_hash: `h${sample_id}` },
    ...{ scorer: "words", scorer_version: "1", metric: "score", score },
    ...{ parsed_answer: "yes", why: score === null ? "it says nothing" : null },
  };
}

async function scored(root: string, name: string, verdict?: VerdictRow): Promise<AnswersScored> {
  return {
    type: "scored",
    at: AT,
    ...OWN,
    ...{ task: TASK, scorer: "words", scorer_version: "1", params: { field: "answer" } },
    samples_sha256: "0",
    protocol: "p",
    measurements: [{ ...measurement("score", 0.5), task: TASK, n: 2, standard_error: 0.5 }],
    scores: await kept(root, `samples/${name}.scores.jsonl`, [
      scoreRow(0, 1),
      scoreRow(1, 0),
      scoreRow(2, null),
    ]),
    verdicts: verdict === undefined
      ? null
      : await kept(root, `samples/${name}.verdicts.jsonl`, [verdict]),
  };
}

const VERDICT: VerdictRow = {
  ...{ task: TASK, sample_id: "0", sample_hash: "h0", scorer: "words", scorer_version: "1" },
  ...{ question: "truth", judge: "a-judge", prompt_hash: "aa", rubric_version: "3" },
  ...{ verdict: "yes", score: 1, reply: "Yes.", prompt_tokens: 40, reply_tokens: 2, cost: 0.001 },
  ...{ obtained: "asked", cut_characters: 0 },
};

async function rowsOf(store: Store, sql: string) {
  const status = await store.flush({ wait_ms: 20_000 });
  assert.equal(status.caught_up, true, status.error ?? "");
  return (await store.query(sql)).rows;
}

Deno.test("verdicts that stood with the samples of earlier versions fill their own table", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.record(studyOpened());
    await store.record(await samplesWritten(store));
    const verdicts = await rowsOf(
      store,
      "SELECT sample_id, question, verdict, score, reply, judge, prompt_hash, position " +
        "FROM verdicts ORDER BY question DESC, sample_id",
    );
    const [, , , unread] = verdicts;
    assert.deepEqual(
      verdicts.map(({ question, verdict }) => [question, verdict]),
      [
        ["truth", "yes"],
        ["truth", "yes"],
        ["truth", "no"],
        ["truth", null],
        ["informativeness", "yes"],
        ["informativeness", "no"],
        ["informativeness", "yes"],
        ["informativeness", "yes"],
      ],
    );
    assert.deepEqual(unread, {
      ...{ sample_id: "3", question: "truth", verdict: null, score: null, reply: " perhaps" },
      ...{ judge: "a-judge", prompt_hash: "7d44f393770a44b6", position: null },
    });
    const columns = await rowsOf(store, "SELECT * FROM samples ORDER BY sample_id");
    assert.equal(columns.length, 4);
    for (const gone of ["judge", "judge_prompt_hash", "truthful", "informative_reply"]) {
      assert.ok(!(gone in columns[0]!), gone);
    }
    const file = store.samplesPath(STUDY, trialId(0), "full").absolute;
    assert.ok(!("judge" in (await readSamples(file, await sha256(file)))[0]!));
  }));

Deno.test("a later scoring stands beside the earlier one, until the answers are replaced", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.record(studyOpened());
    const written = await samplesWritten(store);
    await store.record(written);
    await store.record(await scored(root, "first"));
    await store.record(await scored(root, "second", VERDICT));
    const scorings = await rowsOf(
      store,
      "SELECT scorer, scorer_version, params, metric, value, n, standard_error, protocol, " +
        "count(DISTINCT position) OVER () AS times FROM scorings",
    );
    assert.equal(scorings.length, 2);
    assert.deepEqual(scorings[0], {
      ...{ scorer: "words", scorer_version: "1", params: '{"field":"answer"}', metric: "score" },
      ...{ value: 0.5, n: 2, standard_error: 0.5, protocol: "p", times: 2 },
    });
    const scores = await rowsOf(store, "SELECT sample_id, score, why FROM scores ORDER BY ALL");
    assert.deepEqual(scores.map(({ sample_id, score }) => [sample_id, score]), [
      ...[["0", 1], ["0", 1], ["1", 0], ["1", 0], ["2", null], ["2", null]],
    ]);
    assert.equal(scores.at(-1)!["why"], "it says nothing");
    const judged = "SELECT reply, cost, rubric_version FROM verdicts WHERE position IS NOT NULL";
    assert.deepEqual(await rowsOf(store, judged), [
      { reply: "Yes.", cost: 0.001, rubric_version: "3" },
    ]);
    await store.record(written); // evaluated again: the answers are others
    assert.deepEqual(await rowsOf(store, "SELECT * FROM scorings"), []);
    assert.deepEqual(await rowsOf(store, "SELECT * FROM scores"), []);
    assert.equal((await rowsOf(store, "SELECT * FROM verdicts")).length, 8);
  }));

Deno.test("a file of scores that was changed is told of, and its rows are left out", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.record(studyOpened());
    const record = await scored(root, "first", VERDICT);
    await writeFile(join(root, record.scores.path), "{}\n");
    await store.record(record);
    const problems = await rowsOf(store, "SELECT problem, trial_id FROM problems");
    assert.equal(problems.length, 1);
    assert.match(
      String(problems[0]!["problem"]),
      /first\.scores\.jsonl as it was changed: its sha256/,
    );
    assert.equal(problems[0]!["trial_id"], trialId(0));
    assert.deepEqual(await rowsOf(store, "SELECT * FROM scores"), []);
    assert.equal((await rowsOf(store, "SELECT * FROM verdicts")).length, 1);
    const { wrong } = await checkStore(root);
    assert.match(wrong.join("\n"), /first\.scores\.jsonl.* was changed/);
  }));
