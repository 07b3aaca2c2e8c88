/** Scores that were made again are what every surface tells; what was decided stays as it was. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  countScores,
  type JournalRecord,
  type Measurement,
  type SampleResult,
  type ScoredAgain,
  type ScoreRow,
} from "../../../core/mod.ts";
import { compareTrials } from "../../../tracker/show/view/compare_trials.ts";
import { figureNotes } from "../../../tracker/show/view/scored_again.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, measurement, STUDY, studyRecords, trialId } from "../../fixtures/stores/records.ts";

const TASK = "tiny_words";
const SAMPLES = 20;
const NUMBERS = [0, 1, 2, 3];

/** Right answers of each trial by the evaluation, and by the scorer that scores them again. */
const EVALUATED = [16, 15, 14, 13];
const AGAIN = [12, 9, 12, 8];

type Written = Extract<JournalRecord, { type: "samples_written" }>;

async function kept(root: string, path: string, rows: readonly unknown[]) {
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
  return { path, rows: rows.length, sha256: createHash("sha256").update(text).digest("hex") };
}

function sample(place: number, score: number): SampleResult {
  return {
    ...{ task: TASK, sample_id: String(place), sample_hash: `h${place}`, prompt_hash: "p", score },
    ...{ answer: "by the mill", gold: "mill", log_likelihood: null, parsed_answer: "the mill" },
  };
}

function scoreRow(place: number, score: number): ScoreRow {
  return {
    ...{ task: TASK, sample_id: String(place), sample_hash: `h${place}`, scorer: "words" },
    ...{ scorer_version: "2", metric: "accuracy", score, parsed_answer: "mill", why: null },
  };
}

const right = (count: number) => Array.from({ length: SAMPLES }, (_, i) => Number(i < count));

const taskFigure = (right: number): Measurement =>
  measurement("accuracy", right / SAMPLES, {
    ...{ task: TASK, task_version: "1", n: SAMPLES, standard_error: 0.1 },
  });

/** A study with a figure of its task and its samples in each trial. */
async function evaluated(root: string): Promise<{ records: JournalRecord[]; files: Written[] }> {
  const files = await Promise.all(NUMBERS.map(async (number): Promise<Written> => ({
    ...{ type: "samples_written", at: AT, study_id: STUDY, trial_id: trialId(number) },
    fidelity: "full",
    ...await kept(
      root,
      `samples/t${number}.jsonl`,
      right(EVALUATED[number]!).map((score, i) => sample(i, score)),
    ),
    protocol: { [TASK]: "aa" },
    protocol_parts: { [TASK]: { samples: "s", scorer: "words 1 00" } },
  })));
  const records = studyRecords().flatMap((record): JournalRecord[] => {
    if (record.type !== "trial_closed") return [record];
    const { number, measurements } = record.trial;
    const task = taskFigure(EVALUATED[number]!);
    const means = measurements.map((row) =>
      row.metric === "accuracy" ? { ...row, value: task.value, n: SAMPLES } : row
    );
    return [files[number]!, {
      ...record,
      trial: { ...record.trial, measurements: [task, ...means] },
    }];
  });
  return { records, files };
}

/** What the study's answers score by version 2 of their scorer. */
async function scoredAgain(
  root: string,
  records: readonly JournalRecord[],
  files: readonly Written[],
): Promise<ScoredAgain> {
  const opened = records[0]!;
  assert.ok(opened.type === "study_opened");
  const trials = records.flatMap((one) => one.type === "trial_closed" ? [one.trial] : []);
  const figures = NUMBERS.map((number) => ({
    ...{ trial_id: trialId(number), fidelity: "full", measurements: [taskFigure(AGAIN[number]!)] },
  }));
  const counted = countScores({ spec: opened.spec, facts: opened.facts, trials }, figures);
  return {
    ...{ type: "scored_again", at: "2026-03-09T12:00:00.000Z", study_id: STUDY, task: TASK },
    ...{ scorer: "words", scorer_version: "2", params: {}, beside_because: null },
    own_metric: "accuracy",
    trials: await Promise.all(NUMBERS.map(async (number) => {
      const { trial_id, fidelity, path, rows, sha256 } = files[number]!;
      const scores = right(AGAIN[number]!).map((score, i) => scoreRow(i, score));
      return {
        ...{ trial_id, fidelity, samples: { path, rows, sha256 } },
        scores: await kept(root, `samples/t${number}.again.scores.jsonl`, scores),
        ...{ protocol: "bb", protocol_part: "words 2 00" },
        ...counted.trials[number]!,
      };
    })),
    rewards: counted.rewards,
  };
}

async function rowsOf(store: Store, sql: string) {
  const status = await store.flush({ wait_ms: 20_000 });
  assert.equal(status.caught_up, true, status.error ?? "");
  return (await store.query(sql)).rows;
}

/** What was decided, in the index. */
const DECIDED = `
  SELECT t.trial_id, t.violated, t.undecided, v.value, v.verdict, g.decision, s.recommended
  FROM trials t JOIN constraint_verdicts v USING (study_id, trial_id)
  JOIN gate_decisions g USING (study_id, trial_id) JOIN studies s USING (study_id)
  ORDER BY ALL`;

const TOLD = `
  SELECT l.trial_id, l.rank, l.accuracy, t.accuracy AS summed, t.reward, p.on_front
  FROM leaderboard l JOIN trial_summary t USING (study_id, trial_id)
  LEFT JOIN (SELECT trial_id, true AS on_front FROM pareto WHERE rank = 0) p USING (trial_id)
  ORDER BY l.rank`;

Deno.test("the newest scores are in leaderboard, front, samples and protocols; decisions stay", () =>
  inDirectory(async (root) => {
    const { records, files } = await evaluated(root);
    const again = await scoredAgain(root, records, files);
    await using store = await openStore(root, { write: true });
    for (const record of records) await store.record(record);
    const decided = await rowsOf(store, DECIDED);
    const before = await rowsOf(store, TOLD);
    assert.deepEqual(before.map(({ accuracy }) => accuracy).sort(), [0.65, 0.7, 0.75]);
    await store.record(again);

    const told = await rowsOf(store, TOLD);
    const accuracies = Object.fromEntries(told.map((row) => [row["trial_id"], row["accuracy"]]));
    assert.deepEqual(
      accuracies,
      Object.fromEntries([1, 2, 3].map((one) => [trialId(one), AGAIN[one]! / SAMPLES])),
    );
    const rewards = again.rewards.filter(({ trial_id }) => trial_id !== trialId(0))
      .map(({ trial_id, reward }) => [trial_id, reward.value] as const);
    assert.deepEqual(
      rewards.toSorted(([, a], [, b]) => b - a).map(([id]) => id),
      told.map((row) => row["trial_id"]),
      "the best reward by the newest scores is first",
    );
    assert.notDeepEqual(told.map((row) => row["trial_id"]), before.map((row) => row["trial_id"]));
    assert.deepEqual(await rowsOf(store, DECIDED), decided);

    const samples = await rowsOf(
      store,
      `SELECT trial_id, sum(score)::INT AS score, sum(evaluated_score)::INT AS earlier,
         any_value(parsed_answer) AS read FROM samples GROUP BY trial_id ORDER BY trial_id`,
    );
    assert.deepEqual(told.map(({ summed }) => summed), told.map(({ accuracy }) => accuracy));
    assert.deepEqual(
      samples,
      NUMBERS.map((one) => ({
        ...{ trial_id: trialId(one), score: AGAIN[one], earlier: EVALUATED[one], read: "mill" },
      })),
    );
    assert.deepEqual(
      await rowsOf(store, "SELECT DISTINCT protocol FROM protocols"),
      [{ protocol: "bb" }],
    );
    assert.deepEqual(
      await rowsOf(store, "SELECT DISTINCT part, value FROM protocol_parts ORDER BY part"),
      [{ part: "samples", value: "s" }, { part: "scorer", value: "words 2 00" }],
    );
    const earlier = await rowsOf(
      store,
      `SELECT task, value, replaced_by FROM earlier_measurements WHERE trial_id = '${trialId(1)}'
       ORDER BY task`,
    );
    assert.deepEqual(earlier, [
      { task: TASK, value: 0.75, replaced_by: "words 2" },
      { task: null, value: 0.75, replaced_by: "words 2" },
    ]);
    const [counts] = await rowsOf(
      store,
      "SELECT count(*) AS n, count(scored_again_at) AS again FROM measurements WHERE metric = 'accuracy'",
    );
    assert.deepEqual(counts, { n: 8, again: 8 });
    assert.deepEqual(await rowsOf(store, "SELECT * FROM problems"), []);

    const rest = "SELECT * EXCLUDE (position) FROM measurements ORDER BY ALL";
    const indexed = await rowsOf(store, rest);
    await store.close();
    await rm(join(root, "pare.duckdb"));
    await using anew = await openStore(root, { write: true });
    assert.deepEqual(await rowsOf(anew, rest), indexed, "an index that is made anew is the same");
    assert.deepEqual(await rowsOf(anew, TOLD), told);
    assert.deepEqual(await rowsOf(anew, DECIDED), decided);
  }));

Deno.test("a page tells the newest scores and what rests on the earlier ones", () =>
  inDirectory(async (root) => {
    const { records, files } = await evaluated(root);
    await using store = await openStore(root, { write: true });
    for (const record of records) await store.record(record);
    const before = await viewStudy(store, STUDY);
    assert.deepEqual(figureNotes(before).filter((note) => note.includes("again")), []);
    await store.record(await scoredAgain(root, records, files));
    const view = await viewStudy(store, STUDY);

    assert.deepEqual(
      view.rows.map(({ accuracy }) => accuracy?.value),
      AGAIN.map((one) => one / SAMPLES),
    );
    assert.deepEqual(view.rows[1]!.verdicts, before.rows[1]!.verdicts);
    assert.deepEqual(
      [view.recommended, view.reasons],
      [before.recommended, before.reasons],
      "what was recommended rests on the scores of its time",
    );
    const [compared] = view.comparisons.get(trialId(1))!;
    assert.deepEqual([compared!.reference, compared!.score], [12 / SAMPLES, 9 / SAMPLES]);
    const { comparisons } = await compareTrials(store, trialId(0), trialId(2));
    assert.equal(comparisons[0]!.difference, 0);
    assert.deepEqual(figureNotes(view).filter((note) => note.includes("again")), [
      "tiny_words was scored again on 2026-03-09 with words 2: figures, front and rewards are of these " +
      "scores; verdicts, gates and the recommendation rest on the earlier ones.",
    ]);

    // The answers themselves are others: the scores that were made of the earlier ones count no more.
    const [first, ...rest] = right(19).map((score, i) => sample(i, score));
    const file = await kept(root, "samples/t1-anew.jsonl", [first, ...rest]);
    const closed = records.find((one) =>
      one.type === "trial_closed" && one.trial.trial_id === trialId(1)
    )!;
    await store.record({ ...files[1]!, ...file });
    await store.record(closed);
    const anew = await viewStudy(store, STUDY);
    assert.equal(anew.rows[1]!.accuracy?.value, EVALUATED[1]! / SAMPLES);
    assert.match(anew.refused_comparisons.get(trialId(1))!, /scorer is words 2 00 in the baseline/);
  }));
