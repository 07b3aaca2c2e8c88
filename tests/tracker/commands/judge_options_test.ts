/** Who judges, and by what: from options, from a configuration, and what is refused. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readEvaluationConfig } from "../../../core/serving/evaluation/evaluation_config.ts";
import { Rubric, wireTask } from "../../../core/mod.ts";
import { judgesAsked } from "../../../tracker/commands/input/judge_options.ts";
import { evaluationFromOptions } from "../../../tracker/commands/study/evaluate.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { asJudged } from "../../../tracker/lab/judging/judged_tasks.ts";
import { readRubric } from "../../../tracker/lab/judging/rubrics.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const A = "http://127.0.0.1:1/v1";
const B = "http://127.0.0.1:2/v1";

Deno.test("judges are named by options: one, several of a server, or of several servers", () => {
  assert.deepEqual(judgesAsked({}), {});
  const one = judgesAsked({ judgeEndpoint: [A], judgePrice: "0.15,0.6" }, { concurrency: 2 });
  assert.deepEqual(one, {
    judge: { concurrency: 2, base_url: A, model: null, input_price: 0.15, output_price: 0.6 },
  });
  const two = judgesAsked({ judgeEndpoint: [A], judgeModel: ["x", "y"], judgeChat: true });
  assert.deepEqual(two.panel, [{ api: "chat", base_url: A, model: "y" }]);
  const apart = judgesAsked({ judgeEndpoint: [A, B], judgeModel: ["x"] });
  assert.equal(apart.judge!.key_variable, undefined);
  assert.equal(apart.panel![0]!.key_variable, "JUDGE_2_API_KEY", "a key goes to its own server");
  const refused = (options: Parameters<typeof judgesAsked>[0], said: RegExp) =>
    assert.throws(() => judgesAsked(options), said);
  refused({ judge: "answer_quality" }, /Cannot take --judge without --judge-endpoint URL/);
  refused({ judgeEndpoint: [A, B], judgeModel: ["x", "y", "z"] }, /Cannot pair 2 .* with 3/);
  refused(
    { judgeEndpoint: [`${A}?key=k`] },
    /Cannot ask the judge at .*\?…: it must end with its path/,
  );
  refused({ judgeEndpoint: [A], judgePrice: "1" }, /Cannot read --judge-price 1: .* two numbers/);
  refused(
    { judgeEndpoint: [A], judge: "answer_qualty" },
    /Unknown rubric "answer_qualty"\. Did you mean "answer_quality"\?.*explanation.*or a YAML file/,
  );
});

Deno.test("llm_eval of a configuration names the judge; options stand above it", () => {
  const { llm_eval } = readEvaluationConfig({
    name: "x",
    datasets: [{ type: "options" }],
    llm_eval: { model: "m", base_url: A, rubric: "explanation", key_variable: "MY_KEY" },
  });
  const { judge, rubric } = judgesAsked({}, {}, llm_eval);
  assert.deepEqual(judge, { base_url: A, model: "m", temperature: 0, key_variable: "MY_KEY" });
  assert.equal(rubric!.name, "explanation");
  const options = { judgeEndpoint: [B], judgeModel: ["n"], judge: "pairwise" };
  const above = judgesAsked(options, {}, llm_eval);
  assert.deepEqual([above.judge!.base_url, above.judge!.model], [B, "n"]);
  assert.equal(above.rubric!.name, "pairwise");
  const asked = (enabled: boolean) => {
    const own = { ...llm_eval!, enabled };
    const study = evaluationFromOptions(
      { model: "tiny", dataset: "options" },
      {},
      {},
      undefined,
      own,
    );
    return (study as { evaluation?: { judge?: object } }).evaluation?.judge !== undefined;
  };
  assert.deepEqual([asked(true), asked(false)], [true, false]);
  const wrong = { ...llm_eval, rubrik: "x" };
  assert.throws(
    () => readEvaluationConfig({ name: "x", datasets: [{ type: "options" }], llm_eval: wrong }),
    /Unknown field of llm_eval "rubrik"\. Did you mean "rubric"/,
  );
});

const OWN = `
name: own
about: You judge an answer.
criteria:
  - { name: right, asks: "Is it right?", weight: 2 }
`;

Deno.test("a rubric is data: those that ship are whole, one of a user is checked field by field", () =>
  inDirectory(async (folder) => {
    for (const name of ["answer_quality", "explanation", "pairwise"]) {
      assert.equal(readRubric(name).name, name);
    }
    const file = join(folder, "own.yaml");
    const read = async (text: string) => {
      await writeFile(file, text);
      return readRubric(file);
    };
    const own = await read(OWN);
    assert.deepEqual([own.mode, own.scale, own.criteria[0]!.weight], ["score", [1, 5], 2]);
    assert.deepEqual(Rubric.parse(own), own, "read again it is the same");
    const cases: [string, RegExp][] = [
      [`${OWN}criterias: []`, /Unknown field "criterias"\. Did you mean "criteria"/],
      [OWN.replace("weight", "wieght"), /field of criteria\[0\] "wieght"\. Did you mean "weight"/],
      [`${OWN}scale: [5, 1]`, /Cannot take scale: it goes from worst to best/],
      [OWN.replace("right,", "reason,"), /"reason" is what the judge says/],
      [
        `${OWN}examples: [{ question: q, answer: a, scores: { rihgt: 1 } }]`,
        /no criterion is "rihgt"/,
      ],
      [`${OWN}examples: [{ question: q, answer: a, scores: { right: 9 } }]`, /from 1 to 5/],
      [`${OWN}examples: [{ question: q, answer: a }]`, /an example has scores/],
      ["name: x\nabout: y", /Cannot take criteria: one at least/],
      ["{", /Cannot read the rubric/],
    ];
    for (const [text, said] of cases) await assert.rejects(read(text), said, text);
  }));

Deno.test("a rubric judges what is written, and stands by its content in what is scored by", async () => {
  const { tasks, scorers, scorer } = await discoverPlugins();
  const wire = (name: string) => wireTask(tasks.find((one) => one.name === name)!, null, scorer);
  const quality = readRubric("answer_quality");
  const judged = (name: string, rubric: typeof quality | null) =>
    asJudged(wire(name), rubric, { scorers }).scorers.map((one) =>
      `${one.scorer} ${(one.params["rubric"] as Rubric | undefined)?.name ?? ""}`.trim()
    );
  assert.deepEqual(judged("options", null), ["close_number", "rubric_judge explanation"]);
  assert.deepEqual(judged("options", quality), ["close_number", "rubric_judge answer_quality"]);
  assert.deepEqual(judged("synthetic", null), ["close_number"]);
  assert.deepEqual(judged("gsm8k", quality), ["final_number", "rubric_judge answer_quality"]);
  assert.deepEqual(judged("mmlu", quality), ["lm_eval_metric"], "choices are not written");
  assert.deepEqual(judged("demo_text", quality), ["token_loss"]);
});
