import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import type { JournalRecord, SampleResult } from "../../../core/mod.ts";
import { besideText, trialsBeside } from "../../../tracker/show/json/beside.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { compareTrials } from "../../../tracker/show/view/compare_trials.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, measurement, studyOpened, trial } from "../../fixtures/stores/records.ts";

const PARTS = { task_version: "1", samples: "8 rows aa" };
const CHATTED = { ...PARTS, prompting: "one message of a user" };

/** A study of one trial: the scores of each task, and what its protocol is over. */
async function recordStudy(
  store: Store,
  root: string,
  study_id: string,
  tasks: Record<string, { scores: readonly number[]; parts?: Record<string, string> }>,
): Promise<void> {
  const opened = studyOpened(study_id);
  assert.ok(opened.type === "study_opened");
  const [plan] = opened.spec.tasks;
  const spec = { ...opened.spec, tasks: Object.keys(tasks).map((task) => ({ ...plan!, task })) };
  const rows: SampleResult[] = Object.entries(tasks).flatMap(([task, { scores }]) =>
    scores.map((score, place) => ({
      ...{ task, score, sample_id: String(place), sample_hash: `${task} ${place}` },
      ...{ prompt_hash: "", answer: null, gold: null, log_likelihood: null },
    }))
  );
  const path = `samples/${study_id}/t00-full.jsonl`;
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  await Deno.mkdir(dirname(join(root, path)), { recursive: true });
  await Deno.writeTextFile(join(root, path), text);
  const parts = Object.entries(tasks).map(([task, one]) => [task, one.parts ?? PARTS] as const);
  const trial_id = `${study_id}/t00`;
  const closed = trial({ number: 0, accuracy: 0.5, latency_ms: 1, size_bytes: 1, study_id });
  const own = { at: AT, study_id, trial_id };
  const records: JournalRecord[] = [
    { ...opened, spec },
    { type: "trial_opened", ...own, number: 0, strategy: null },
    {
      ...{ type: "samples_written", ...own, fidelity: "full", path, rows: rows.length },
      sha256: createHash("sha256").update(text).digest("hex"),
      protocol: Object.fromEntries(parts.map(([task, of]) => [task, JSON.stringify(of)])),
      protocol_parts: Object.fromEntries(parts),
    },
    {
      type: "trial_closed",
      at: AT,
      trial: {
        ...closed,
        measurements: Object.keys(tasks).flatMap((task) => [
          measurement("accuracy", 0.5, { task, task_version: "1" }),
          measurement("truth_rate", 0.5, { task, task_version: "1", method: "judge j" }),
        ]),
      },
    },
  ];
  for (const record of records) await store.record(record);
  await store.flush();
}

Deno.test("trials of two studies are compared where their protocols are the same", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const all = (score: number) => Array.from({ length: 8 }, () => score);
    await recordStudy(store, root, "here", {
      words: { scores: [1, 1, 1, 1, 1, 1, 1, 0] },
      sums: { scores: all(1) },
      maps: { scores: all(1) },
    });
    await recordStudy(store, root, "served", {
      words: { scores: [0, 0, 0, 0, 0, 0, 1, 0] },
      sums: { scores: all(0), parts: CHATTED },
      rhymes: { scores: all(1) },
    });
    const compared = await compareTrials(store, "here/t00", "served/t00");
    const [words] = compared.comparisons;
    assert.equal(compared.comparisons.length, 1);
    assert.deepEqual(
      [words!.metric, words!.reference, words!.score, words!.difference, words!.n],
      ["accuracy", 0.875, 0.125, -0.75, 8],
    );
    // Six lost, none gained: McNemar's exact test.
    assert.ok(Math.abs(words!.p_value - 2 / 64) < 1e-12, String(words!.p_value));
    assert.deepEqual(compared.refused, [
      "Cannot compare sums with the first as the protocols differ: prompting is missing in the " +
      "first and one message of a user in the second",
      "Cannot compare maps: only the first measured it",
      "Cannot compare rhymes: only the second measured it",
    ]);
    assert.match(
      besideText(trialsBeside(["here/t00", "served/t00"], compared, [])),
      /words +accuracy +0\.875 +0\.125 +-0\.750 \[/,
    );
    const pairs = await store.query(`SELECT task, count(*)::INT AS n, avg(difference) AS difference
      FROM sample_pairs('here/t00', 'served/t00') GROUP BY task`);
    assert.deepEqual(pairs.rows, [{ task: "words", n: 8, difference: -0.75 }]);
    await assert.rejects(compareTrials(store, "here/t00", "serve/t00"), /mean "served"\?/);
    await assert.rejects(compareTrials(store, "here/t00", "here/t07"), /mean "here\/t00"\?/);
    await assert.rejects(compareTrials(store, "here", "here/t00"), /a trial is named STUDY\/t00/);
  }));
