/** Answers of a finished study are scored again through the real worker, by a third party's scorer too. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { scoreTable } from "../../../tracker/commands/study/score.ts";
import { Endpoint } from "../../../core/mod.ts";
import { figureNotes } from "../../../tracker/show/view/scored_again.ts";
import { type Lab, openLab } from "../../../tracker/mod.ts";
import { shareDefaultEnvironment } from "../../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const THIRD_PARTY = new URL("../../fixtures/third_party/shared_words/", import.meta.url);
const plugin = (name: string) => fileURLToPath(new URL(name, THIRD_PARTY));

/** The task's own scorer by another knob: its scores are what every surface tells. */
async function countsAgain(lab: Lab, evaluated: number): Promise<void> {
  const [now] = await lab.score("words", {
    ...{ task: "own_words", scorer: "shared_words", params: { field: "prompt" } },
  });
  assert.equal(now!.beside_because, null);
  assert.ok(now!.changed!.length > 0 && now!.now.value !== evaluated);
  const { value } = now!.now;
  const figures = await lab.sql<{ value: number; again: boolean }>`
    SELECT value, scored_again_at IS NOT NULL AS again FROM measurements
    WHERE metric IN ('score', 'accuracy') AND slice IS NULL ORDER BY task NULLS LAST`;
  assert.deepEqual(figures, [{ value, again: true }, { value, again: true }]);
  const [{ mean, kept } = { mean: 0, kept: 0 }] = await lab.sql<{ mean: number; kept: number }>`
    SELECT avg(score) AS mean, avg(evaluated_score) AS kept FROM samples`;
  assert.ok(Math.abs(mean - value) < 1e-12 && Math.abs(kept - evaluated) < 1e-12);
  const earlier = await lab.sql`
    SELECT DISTINCT value, replaced_by FROM earlier_measurements WHERE task = 'own_words'`;
  assert.deepEqual(earlier, [{ value: evaluated, replaced_by: "shared_words 1" }]);
  const [board] = await lab.sql`SELECT accuracy FROM trial_summary`;
  assert.deepEqual(board, { accuracy: value });
  const view = await lab.view("words");
  assert.equal(view.rows[0]!.accuracy?.value, value);
  const [note, beside] = figureNotes(view);
  assert.match(beside!, /scored again on \d{4}-\d\d-\d\d with shared_words 1: its figures are of/);
  assert.match(
    note!,
    /with contains 1: those scores stand beside its own, .* no scorer of the task/,
  );
}

Deno.test("a study scored by a third party's scorer is scored again, and keeps what it had", async () => {
  await shareDefaultEnvironment();
  await using lab = await openLab({ fresh: temporaryFolder("score"), notebook: false });
  const study = await lab.open({
    model_name: "tiny",
    dataset: "own_words",
    evaluation: {},
    plugins: [plugin("own_words.ts"), plugin("shared_words.ts")],
  }, "words");
  await study.run();
  const before = await lab.sql<{ score: number }>`SELECT * FROM samples ORDER BY sample_id`;
  assert.ok(before.length > 0 && before.every(({ score }) => score >= 0 && score <= 1));
  const [measured] = await lab.sql<{ value: number }>`
    SELECT value FROM measurements WHERE task = 'own_words' AND metric = 'score' AND slice IS NULL`;

  const [again] = await lab.score("words", { task: "own_words" });
  assert.equal(again!.scorer, "shared_words");
  assert.equal(again!.now.value, measured!.value);
  assert.deepEqual([again!.earlier?.value, again!.difference?.value], [measured!.value, 0]);
  assert.deepEqual([again!.changed, again!.earlier_by], [[], "shared_words 1"]);
  assert.equal(again!.beside_because, null);

  const [other] = await lab.score("words", { task: "own_words", scorer: "contains" });
  assert.deepEqual([other!.metric, other!.earlier_by], ["score", "shared_words 1"]);
  assert.ok(other!.now.value <= measured!.value, "whole answers are rarer than shared words");
  assert.match(scoreTable([other!]), /shared_words 1 and contains 1 are two rules/);
  const [twice] = await lab.score("words", { task: "own_words", scorer: "contains" });
  assert.deepEqual([twice!.earlier_by, twice!.changed], ["contains 1", []]);

  const kept = await lab.sql`SELECT scorer, value, n FROM scorings ORDER BY position`;
  assert.deepEqual(kept.map(({ scorer }) => scorer), ["shared_words", "contains", "contains"]);
  const after = await lab.sql`
    SELECT * REPLACE (NULL AS scored_again_at, NULL AS evaluated_score)
    FROM samples ORDER BY sample_id`;
  assert.deepEqual(after, before, "the same rule gives the same scores");
  const [{ stop } = { stop: "" }] = await lab.sql<{ stop: string }>`SELECT stop FROM studies`;
  assert.equal(stop, "evaluated");

  await countsAgain(lab, measured!.value);

  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { prompt = "" } = await request.json().catch(() => ({}));
      const text = String(prompt).endsWith("True:") ? " yes" : " perhaps";
      return Response.json({ choices: [{ text, finish_reason: "stop" }] });
    },
  );
  const judged = await lab.score("words", {
    task: "own_words",
    scorer: "truthfulqa_judge",
    params: { question: "prompt" },
    judge: Endpoint.parse({
      base_url: `http://127.0.0.1:${server.addr.port}/v1`,
      model: "a-judge",
    }),
  });
  assert.deepEqual(judged.map(({ metric, now, earlier }) => [metric, now.value, earlier]), [
    ["truth_rate", 1, null],
  ]);
  const verdicts = await lab.sql`
    SELECT question, judge, verdict, score, count(*) AS n FROM verdicts GROUP BY ALL ORDER BY question`;
  const own = { judge: "a-judge", n: before.length };
  assert.deepEqual(verdicts, [
    { question: "informativeness", verdict: null, score: null, ...own },
    { question: "truth", verdict: "yes", score: 1, ...own },
  ]);

  const refused: [Parameters<typeof lab.score>[1], RegExp][] = [
    [{ task: "own_word" }, /Unknown task "own_word". Did you mean "own_words"/],
    [{ task: "own_words", scorer: "contain" }, /Unknown scorer "contain". Did you mean "contains"/],
    [{ task: "own_words", scorer: "token_loss" }, /it reads windows, and the answers are text/],
    [{ task: "own_words", scorer: "truthfulqa_judge" }, /asks a judge: name one by --judge-endp/],
    [
      { task: "own_words", scorer: "contains", params: { gold: "anser" } },
      /Cannot score row \d+ of own_words by contains: it has no field 'anser' \(found: prompt/,
    ],
    [{ task: "own_words", scorer: "contains", params: { golds: "x" } }, /its knobs: gold/],
  ];
  for (const [asked, sentence] of refused) {
    await assert.rejects(lab.score("words", asked), { name: "UsageError", message: sentence });
  }
  assert.equal((await lab.sql`SELECT * FROM scorings`).length, 5, "what is refused leaves nothing");
});
