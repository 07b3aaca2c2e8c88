/** A study whose answers a judge scores, again by another rubric, and how good that judge is. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Judge } from "../../../core/mod.ts";
import { checkText } from "../../../tracker/commands/judge/check_judge.ts";
import { csvRows, readGold } from "../../../tracker/lab/judging/labels.ts";
import { readRubric } from "../../../tracker/lab/judging/rubrics.ts";
import { openLab } from "../../../tracker/mod.ts";
import { checkJudge } from "../../../tracker/session/check_judge.ts";
import { judgedOf } from "../../../tracker/board/resources/judged.ts";
import { judgeNotes } from "../../../tracker/show/judging/judged_figures.ts";
import { figureNotes } from "../../../tracker/show/view/scored_again.ts";
import { shareDefaultEnvironment } from "../../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const TASK = fileURLToPath(new URL("../../fixtures/generated_words.ts", import.meta.url));

/** A judge of chats that gives every third question the best and others the worst; `mute`: to which it
 * says nothing that can be read. */
function judging(mute: (prompt: string) => boolean) {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const { messages } = await request.json().catch(() => ({}));
    if (messages === undefined) return Response.json({ error: "Not Found" }, { status: 404 });
    const prompt = String(messages[0].content);
    const names = [...prompt.matchAll(/^- (\w+): /gm)].map(([, name]) => name!);
    const value = prompt.length % 3 === 0 ? 5 : 1;
    const content = mute(prompt)
      ? "I would rather not."
      : JSON.stringify(Object.fromEntries(names.map((name) => [name, value])));
    const usage = { prompt_tokens: 9, completion_tokens: 3 };
    const choices = [{ message: { content }, finish_reason: "stop" }];
    return Response.json({ model: "scripted", choices, usage });
  });
}

Deno.test("answers are judged, judged again by another rubric, and the judge is held against labels", async () => {
  await shareDefaultEnvironment();
  let mute = (_prompt: string) => false;
  await using server = judging((prompt) => mute(prompt));
  const folder = temporaryFolder("judged");
  await using lab = await openLab({ fresh: temporaryFolder("judged-home"), notebook: false });
  const judge = Judge.parse({ base_url: `http://127.0.0.1:${server.addr.port}/v1`, model: "m" });
  const study = await lab.open({
    ...{ model_name: "tiny", dataset: "generated_words", samples: { full: 24 }, plugins: [TASK] },
    evaluation: { judge, rubric: readRubric("explanation") },
  }, "judged");
  const { stop, message } = await study.run();
  assert.equal(stop, "evaluated", message);
  const first = await lab.sql<{ metric: string; n: number; method: string }>`
    SELECT metric, n::INTEGER AS n, method FROM measurements
    WHERE metric = 'judge_score' AND slice IS NULL`;
  assert.equal(first.length, 1);
  assert.equal(first[0]!.n, 24);
  assert.match(first[0]!.method, /rubric_judge 1, judge scripted, rubric explanation [0-9a-f]{16}/);
  const ways = await lab.sql`SELECT DISTINCT obtained, judge, cost FROM verdicts`;
  assert.deepEqual([...ways], [{ obtained: "asked", judge: "scripted", cost: null }]);
  const [note] = figureNotes(await lab.view("judged"));
  assert.match(
    note!,
    /generated_words: the scores of rubric_judge \(explanation\) are by the judge scripted,/,
  );
  assert.match(note!, /which was never checked against labels here/);

  const again = await lab.score("judged", {
    rescore: true,
    judge,
    params: { rubric: "answer_quality" },
  });
  assert.deepEqual(again.map(({ task, metric }) => [task, metric]), [[
    "generated_words",
    "judge_score",
  ]]);
  const versions = await lab.sql<{ n: number }>`
    SELECT count(DISTINCT rubric_version)::INTEGER AS n FROM verdicts`;
  assert.equal(versions[0]!.n, 2);
  mute = (prompt) => (/<question [^>]*>\n([^<]*)/.exec(prompt)?.[1]?.length ?? 0) % 3 === 0;
  await lab.score("judged", {
    ...{ task: "generated_words", rescore: true, judge },
    params: { rubric: readRubric("answer_quality") },
  });

  const judged = await lab.sql<{ sample_id: string; score: number }>`
    SELECT sample_id, score FROM scores WHERE position = (SELECT max(position) FROM scores)
    ORDER BY sample_id`;
  const lines = judged.slice(0, 12).map(({ sample_id, score }, i) =>
    `${sample_id},${i === 0 ? (score > 0.5 ? "no" : "yes") : score > 0.5 ? "yes" : "no"}`
  );
  const file = join(folder, "labels.csv");
  await writeFile(file, ["sample_id,label", ...lines].join("\r\n"));
  await using store = await lab.store.use();
  const gold = readGold(file, [0, 1]);
  const check = await checkJudge(store.store, { trial_id: "judged/t00", gold, seed: 1 });
  assert.deepEqual([check.answers, check.labels, check.judges], [24, 12, ["scripted"]]);
  const by = Object.fromEntries(check.agreement.map((one) => [one.against, one]));
  // Where nothing can be read of the judge the rule stands in: such answers say nothing of the judge.
  const ruled = new Set(
    (await lab.sql<{ sample_id: string }>`SELECT sample_id FROM verdicts WHERE obtained = 'rule'`)
      .map(({ sample_id }) => sample_id),
  );
  assert.ok(ruled.size > 0 && ruled.size < 24 && check.obtained["rule"] === ruled.size);
  const read = judged.slice(0, 12).filter(({ sample_id }) => !ruled.has(sample_id));
  const wrong = ruled.has(judged[0]!.sample_id) ? 0 : 1;
  assert.deepEqual(
    [by["labels"]!.same, by["labels"]!.n],
    [(read.length - wrong) / read.length, read.length],
  );
  const themselves = 24 - ruled.size;
  assert.deepEqual(
    [by["again"]!.same, by["again"]!.n],
    [1, themselves],
    "by the same rubric alone",
  );
  assert.ok(by["rule"]!.n === themselves && by["second_judge"] === undefined);
  assert.match(checkText(check), /people's labels +\d+ +\d+ %.*corrected score: .* labels alone/s);
  const at = new Date().toISOString();
  await store.store.record({ type: "judge_checked", at, study_id: "judged", ...check });
  const [row] = await lab.sql<{ labels: number; kappa: number }>`
    SELECT c.labels::INTEGER AS labels, a.kappa FROM judge_checks c
    JOIN judge_agreement a USING (study_id, position) WHERE against = 'labels'`;
  assert.deepEqual(row, { labels: 12, kappa: by["labels"]!.kappa!.value });
  const notes = figureNotes(await lab.view("judged")).join("\n");
  assert.match(
    notes,
    /\(answer_quality\) are by the judge scripted, checked against 12 labels, kappa/,
  );
  assert.match(notes, /\(explanation\) are by the judge scripted, which was never checked/);
  const onBoard = judgeNotes(await judgedOf(store.store, "judged"));
  assert.deepEqual(onBoard.toSorted(), judgeNotes((await lab.view("judged")).judged).toSorted());
  assert.equal(onBoard.length, 2);
  await assert.rejects(
    checkJudge(store.store, { trial_id: "judged/t00", task: "generatd_words", seed: 1 }),
    /Unknown judged task "generatd_words"\. Did you mean "generated_words"/,
  );
});

Deno.test("labels are read of CSV: quotes, several labellers, other scales; what they are not is said", async () => {
  assert.deepEqual(csvRows('a,"b ""c"", d"\r\n"e\nf",\n\n'), [["a", 'b "c", d'], ["e\nf", ""]]);
  const file = join(temporaryFolder("labels"), "gold.csv");
  const read = async (text: string, scale: [number, number] = [0, 1]) => {
    await writeFile(file, text);
    return readGold(file, scale);
  };
  const { labels, by } = await read("\ufeffLabel,sample_id\nyes,7\n0,7\n0.25,8\n");
  assert.deepEqual([by, [...labels]], ["sample_id", [["7", [1, 0]], ["8", [0.25]]]]);
  assert.deepEqual([...(await read("sample_hash,label\nx,4", [1, 5])).labels], [["x", [0.75]]]);
  await assert.rejects(read("sample_id,lable\n1,1"), /no column label \(did you mean "label"\?\)/);
  await assert.rejects(
    read("sample_id,label\n1,4"),
    /line 2 .* from 0 to 1, or yes or no, not "4"/,
  );
  await assert.rejects(read("sample_id,label\n"), /it has no row/);
  assert.throws(() => readGold(`${file}.none`, [0, 1]), /there is no file/);
});
