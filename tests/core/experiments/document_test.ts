import assert from "node:assert/strict";
import { kindOfMembers, membersOf, readExperiments } from "../../../core/experiments/document.ts";

const config = (more: Record<string, unknown> = {}) => ({ id: "a", llm_model: "m", ...more });
const document = (configs: unknown[], more: Record<string, unknown> = {}) => ({
  experiments: [{ name: "one", description: "of a test", configs }],
  ...more,
});
const members = (given: unknown) => {
  const read = readExperiments(given);
  return read.experiments.flatMap((one) => membersOf(read, one));
};

Deno.test("the requirement's experiments are read: models, scales, sampling strategies", () => {
  const of = (configs: Record<string, unknown>[]) => kindOfMembers(members(document(configs)));
  const eval_config = "config/eval_medium.yaml";
  assert.equal(
    of([
      { id: "llama3.1-70b", llm_model: "meta-llama/llama-3.1-70b-instruct", eval_config },
      { id: "qwen2.5-72b", llm_model: "qwen/qwen-2.5-72b-instruct", eval_config },
    ]),
    "models",
  );
  assert.equal(
    of([10, 100, 500].map((n) => config({ id: `scale-${n}`, num_tasks: n }))),
    "scales",
  );
  assert.equal(
    of(["stratified", "random", "sequential"].map((one) => ({
      ...{ id: one, sampling_strategy: one, num_tasks: 100 },
    }))),
    "sampling",
  );
});

Deno.test("a wrong key is named with its place, and what was meant", () => {
  const wrong = (given: unknown, words: RegExp) =>
    assert.throws(() => readExperiments(given), words);
  wrong(
    document([config({ num_task: 3 })]),
    /configs\[0\] "num_task"\. Did you mean "num_tasks"\?/,
  );
  wrong(document([config()], { price: {} }), /"price"\. Did you mean "prices"\?/);
  wrong(document([config()], { budget: { mony: 3 } }), /budget "mony"\. Did you mean "money"\?/);
  wrong(
    document([config({ serve: { model: "tiny", wiht: "vllm" } })]),
    /serve "wiht"\. Did you mean "with"\?/,
  );
  wrong(
    document([config({ sampling_strategy: "even" })]),
    /Cannot take experiments\[0\]\.configs\[0\]\.sampling_strategy: it is one of stratified, random/,
  );
  wrong(document([config({ key_variable: "sk-or-v1-abc" })]), /it must be the name of a variable/);
  wrong(document([config(), config()]), /Cannot take the configuration of one "a" twice/);
  wrong(document([config({ id: "../a" })]), /must be a name of letters/);
  wrong({ experiments: [] }, /Cannot take experiments/);
});

Deno.test("defaults stand below a member's own words, which replace where it is asked", () => {
  const [first, second, third] = members({
    defaults: { endpoint: "http://h/v1", num_tasks: 5 },
    experiments: [{
      ...{ name: "one", defaults: { llm_model: "m", num_tasks: 7 } },
      configs: [{ id: "a" }, { id: "b", serve: "tiny" }, { id: "c", provider: "anthropic" }],
    }],
  });
  assert.deepEqual([first!.endpoint, first!.llm_model, first!.num_tasks], ["http://h/v1", "m", 7]);
  assert.deepEqual([second!.endpoint, second!.serve?.model], [undefined, "tiny"]);
  assert.deepEqual([third!.endpoint, third!.provider], [undefined, "anthropic"]);
  assert.throws(
    () => members(document([config({ serve: "tiny", endpoint: "http://h" })])),
    /Cannot take endpoint beside serve in one\.a/,
  );
});
