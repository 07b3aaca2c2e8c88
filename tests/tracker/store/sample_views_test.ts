import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import type { JournalRecord, SampleResult } from "../../../core/mod.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import {
  AT,
  measurement,
  strategy,
  STUDY,
  studyOpened,
  trial,
  trialId,
} from "../../fixtures/stores/records.ts";

const PARTS = { task_version: "1", samples: "6 rows aa", decoding: "null" };

function samples(scores: readonly number[], answers: string): SampleResult[] {
  return scores.map((score, i) => ({
    task: "tiny_words",
    sample_id: String(i),
    sample_hash: `h${i}`,
    prompt_hash: `p${i}`,
    score,
    answer: answers[i]!,
    parsed_answer: answers[i]!,
    gold: "x",
    log_likelihood: score - 1.5,
    chosen: i,
    choice_log_likelihoods: [-0.5, -1.5],
    answer_length: 1,
    cut_tokens: i,
  }));
}

/** A trial that is done, with its samples under a protocol. */
async function recordTrial(
  store: Store,
  root: string,
  { number, bits, scores, answers, parts = PARTS }: {
    number: number;
    bits: number | null;
    scores: readonly number[];
    answers: string;
    parts?: Record<string, string>;
  },
): Promise<void> {
  const trial_id = trialId(number);
  const own = { at: AT, study_id: STUDY, trial_id };
  const path = `samples/${STUDY}/t0${number}-full.jsonl`;
  const text = samples(scores, answers).map((one) => JSON.stringify(one)).join("\n") + "\n";
  await Deno.mkdir(dirname(join(root, path)), { recursive: true });
  await Deno.writeTextFile(join(root, path), text);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const made = bits === null ? null : strategy(bits);
  const closed = trial({ number, accuracy: 0.5, latency_ms: 1, size_bytes: 1 });
  const records: JournalRecord[] = [
    { type: "trial_opened", ...own, number, strategy: made },
    {
      type: "samples_written",
      ...own,
      fidelity: "full",
      path,
      rows: scores.length,
      sha256,
      protocol: { tiny_words: JSON.stringify(parts) },
      protocol_parts: { tiny_words: parts },
    },
    {
      type: "trial_closed",
      at: AT,
      trial: {
        ...closed,
        strategy: made,
        measurements: [
          measurement("accuracy", 0.5, { task: "tiny_words", task_version: "1" }),
          ...closed.measurements,
        ],
      },
    },
  ];
  for (const record of records) await store.record(record);
}

Deno.test("one question finds every sample that the 4-bit model lost and the 8-bit one kept", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.record(studyOpened());
    await recordTrial(store, root, {
      number: 0,
      bits: null,
      scores: [1, 1, 1, 1, 0, 0],
      answers: "xxxxab",
    });
    await recordTrial(store, root, {
      number: 1,
      bits: 8,
      scores: [1, 1, 1, 0, 0, 1],
      answers: "xxxcdx",
    });
    await recordTrial(store, root, {
      number: 2,
      bits: 4,
      scores: [1, 0, 0, 1, 0, 0],
      answers: "xefxgh",
    });
    await store.flush();
    const { rows } = await store.query(`
      SELECT task, sample_id, gold, kept_answer, lost_answer,
        kept_log_likelihood - lost_log_likelihood AS nats_lost
      FROM flips
      WHERE kept_by_readable_id LIKE '%8bit%' AND lost_by_readable_id LIKE '%4bit%'
      ORDER BY task, sample_id::INT`);
    const lost = (sample_id: string, lost_answer: string) => ({
      task: "tiny_words",
      sample_id,
      gold: "x",
      kept_answer: "x",
      lost_answer,
      nats_lost: 1,
    });
    assert.deepEqual(rows, [lost("1", "e"), lost("2", "f"), lost("5", "h")]);
    const { rows: [counts] } = await store.query(`
      SELECT count(*) FILTER (kept_by_readable_id = 'baseline' AND lost_by = '${
      trialId(2)
    }') AS lost,
        count(*) FILTER (kept_by = '${trialId(2)}' AND lost_by_readable_id = 'baseline') AS gained
      FROM flips`);
    assert.deepEqual(counts, { lost: 2, gained: 0 });
  }));

Deno.test("figures of another protocol have no retention, and the store says what differs", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.record(studyOpened());
    const scores = [1, 0];
    await recordTrial(store, root, { number: 0, bits: null, scores, answers: "xx" });
    await recordTrial(store, root, { number: 1, bits: 8, scores, answers: "xx" });
    const parts = { ...PARTS, samples: "5 rows bb" };
    await recordTrial(store, root, { number: 2, bits: 4, scores, answers: "xx", parts });
    await store.flush();
    const { rows } = await store.query(`
      SELECT trial_id, list(metric || coalesce(' ' || task, '') ORDER BY metric, task) AS compared
      FROM retention GROUP BY trial_id ORDER BY trial_id`);
    assert.deepEqual(rows, [
      {
        trial_id: trialId(1),
        compared: ["accuracy tiny_words", "accuracy", "latency_ms", "size_bytes"],
      },
      { trial_id: trialId(2), compared: ["latency_ms", "size_bytes"] },
    ]);
    const { rows: differences } = await store.query("SELECT * FROM protocol_differences");
    assert.deepEqual(differences, [{
      study_id: STUDY,
      trial_id: trialId(2),
      fidelity: "full",
      task: "tiny_words",
      part: "samples",
      baseline: "6 rows aa",
      trial: "5 rows bb",
    }]);
  }));

Deno.test("a sample's choices, cut tokens and lengths stand in columns", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const path = `samples/${STUDY}/t01-full.jsonl`;
    const text = samples([1, 0], "xy").map((one) => JSON.stringify(one)).join("\n") + "\n";
    await Deno.mkdir(dirname(join(root, path)), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
    await store.record({
      type: "samples_written",
      at: AT,
      study_id: STUDY,
      trial_id: trialId(1),
      fidelity: "full",
      path,
      rows: 2,
      sha256: createHash("sha256").update(text).digest("hex"),
    });
    await store.flush();
    const { rows } = await store.query(`
      SELECT parsed_answer, answer_length, chosen, cut_tokens, choice_log_likelihoods[2] AS second
      FROM samples ORDER BY sample_id`);
    assert.deepEqual(rows, [
      { parsed_answer: "x", answer_length: 1, chosen: 0, cut_tokens: 0, second: -1.5 },
      { parsed_answer: "y", answer_length: 1, chosen: 1, cut_tokens: 1, second: -1.5 },
    ]);
  }));
