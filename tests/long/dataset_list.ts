import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const lines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const WORDS = ["the red fox", "the old owl", "a grey hare", "the young wolf"];
const run = { ask: silentAsk() };
const study = { model_name: "tiny", evaluation: { chat_template: false } };

const TASK = `
task: mine
dataset_path: json
dataset_kwargs: {data_files: {test: mine.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_target: answer
doc_to_choice: "{{choices}}"
`;

Deno.test("a list of names and files: what is broken is left out, the others are measured", async (t) => {
  const folder = temporaryFolder("dataset-list");
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const rows = WORDS.map((question, i) => ({ question, choices: ["den", "nest"], answer: i % 2 }));
  file("mine.jsonl", lines(rows));
  const mine = file("mine.yaml", TASK);
  const own = file("own.jsonl", lines(WORDS.map((prompt) => ({ prompt, answer: "den" }))));
  const cut = file("cut.jsonl", '{"text": "a"}\n{"text": \n');
  const lost = file(
    "lost.yaml",
    TASK.replace("mine.jsonl", "nowhere.jsonl").replace("mine", "lost"),
  );
  mkdirSync(join(folder, "commonsense_qa"));
  file("commonsense_qa/validation.jsonl.gz", "this is no gzip file");
  await using lab = await openLab({ store: join(folder, "store") });
  const dataset = ["tiny", own, mine, cut, lost, "winogrande", "commonsense_qa"].join();
  const request = { ...study, dataset, data_dir: folder, samples: { full: 4 } };

  await t.step("each that is missing or broken with its reason", async () => {
    const result = await (await lab.open(request, "list")).run(run);
    assert.equal(result.stop, "evaluated");
    const { spec } = await lab.view("list");
    assert.deepEqual(spec.tasks.map(({ task }) => task), ["tiny_words", "own", "mine"]);
    assert.deepEqual(spec.missing_tasks.map(({ task }) => task), [
      cut,
      "lost",
      "winogrande",
      "commonsense_qa",
    ]);
    const said = spec.warnings.filter((warning) => warning.includes("left out"));
    assert.match(
      said[0]!,
      /cut\.jsonl is left out .*: Cannot read line 2 of .*cut\.jsonl as it is/,
    );
    assert.match(said[1]!, /^lost is left out .*: Cannot read the data of lost: .* is not there$/);
    assert.match(
      said[2]!,
      /--data-dir \(data_dir of a document\) must hold winogrande\/validation\.jsonl\.gz, and .* is not/,
    );
    assert.match(said[3]!, /Cannot read .*validation\.jsonl\.gz: Not a gzipped file/);
    const found = await lab.sql`
      SELECT task, count(*)::INTEGER AS n FROM samples WHERE study_id = 'list' GROUP BY task
      ORDER BY task`;
    assert.deepEqual(found.map(({ task, n }) => [task, n]), [["mine", 4], ["own", 4], [
      "tiny_words",
      4,
    ]]);
  });
  await t.step("it goes on with the task file that it began with, and with no other", async () => {
    assert.equal((await (await lab.resume("list")).run(run)).trials.length, 1);
    file("mine.yaml", `${TASK}metadata: {chance: 0.5}\n`);
    const changed =
      /^Cannot go on with list as the task file .*mine\.yaml has changed since it beg/;
    await assert.rejects(async () => await (await lab.resume("list")).run(run), {
      message: changed,
    });
    file("mine.yaml", TASK);
    rmSync(own);
    const gone = /Cannot go on with list as its benchmark own is gone: .*no such file/;
    await assert.rejects(async () => await (await lab.resume("list")).run(run), { message: gone });
  });
  await t.step("nor with other rows in the user's file", async () => {
    const alone = file("alone.jsonl", lines([{ prompt: "the red fox", answer: "den" }]));
    await (await lab.open({ ...study, dataset: alone }, "alone-file")).run(run);
    file("alone.jsonl", lines([{ prompt: "the red fox", answer: "nest" }]));
    const changed = /Cannot go on with alone-file as .*alone\.jsonl has changed since it began/;
    await assert.rejects(async () => await (await lab.resume("alone-file")).run(run), {
      message: changed,
    });
  });
  await t.step("nothing is begun where nothing is left", async () => {
    const alone = lab.open({ ...request, dataset: "winogrande,arc_challenge" }, "alone");
    await assert.rejects(alone, /must hold winogrande.* is not there; .*hold arc_challenge/);
  });
});

Deno.test("a group of lm-eval has the figure that lm-eval gives it", async () => {
  const folder = temporaryFolder("group-data");
  const subjects = ["high_school_psychology", "econometrics", "high_school_geography"].concat(
    ["high_school_government_and_politics", "high_school_macroeconomics", "human_sexuality"],
    ["high_school_microeconomics", "professional_psychology", "public_relations"],
    ["security_studies", "sociology", "us_foreign_policy"],
  );
  for (const [i, subject] of subjects.entries()) {
    mkdirSync(join(folder, `mmlu_${subject}`));
    const rows = WORDS.slice(0, 1 + i % 4).map((question, k) => ({
      question,
      subject,
      choices: ["den", "nest", "field", "pond"],
      answer: (i + k) % 4,
    }));
    writeFileSync(join(folder, `mmlu_${subject}`, "test.jsonl"), lines(rows));
  }
  await using lab = await openLab({ store: join(folder, "store") });
  const dataset = "lm_eval:mmlu_social_sciences";
  await (await lab.open({ ...study, dataset, data_dir: folder }, "group")).run(run);
  const [row] = await lab.sql`
    SELECT m.value, m.n, (SELECT avg(score) FROM samples) AS mean,
      (SELECT count(*) FROM samples)::INTEGER AS n_samples,
      (SELECT count(DISTINCT task) FROM samples)::INTEGER AS tasks
    FROM measurements m WHERE metric = 'group_accuracy' AND task = 'mmlu_social_sciences'`;
  assert.deepEqual([row?.["tasks"], Number(row?.["n"])], [12, Number(row?.["n_samples"])]);
  assert.ok(Math.abs(Number(row?.["value"]) - Number(row?.["mean"])) < 1e-12);
});
