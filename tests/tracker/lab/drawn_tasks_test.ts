import assert from "node:assert/strict";
import type { Spec, Task } from "../../../core/mod.ts";
import { StudyRequest, type StudyRequestInput } from "../../../core/mod.ts";
import humaneval from "../../../plugins/evaluation/generations/humaneval.ts";
import gsm8k from "../../../plugins/evaluation/generations/gsm8k.ts";
import { wireTasks } from "../../../tracker/lab/runner/task_data.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { evaluationFiles } from "../../fixtures/evaluation_files.ts";

const { scorer, scorers } = await discoverPlugins();

/** The definition of a task as the worker gets it. */
function definition(task: Task, more: Partial<StudyRequestInput>): Record<string, unknown> {
  const request = StudyRequest.parse({ model_name: "demo", dataset: task.name, ...more });
  const spec = { tasks: [{ task: task.name }] } as unknown as Spec; // nothing else of it is read
  const [wire] = wireTasks(spec, { tasks: [task], scorer, scorers }, request, null);
  assert.ok(wire?.definition);
  return wire.definition;
}

Deno.test("a task of programs is drawn by the study's seed, ten a problem unless told", () => {
  const { repeats, generation_kwargs } = definition(humaneval, { seed: 7 });
  assert.equal(repeats, 10);
  assert.deepEqual(generation_kwargs, {
    do_sample: true,
    temperature: 0.2,
    top_p: 0.95,
    top_k: 0,
    max_gen_toks: 512,
    until: ["\nclass", "\ndef", "\n#", "\nif", "\nprint"],
    seed: 7,
  });
  assert.equal(definition(humaneval, { samples_per_problem: 20 })["repeats"], 20);
});

Deno.test("a task that is not drawn has no seed: its protocol is that of every study", () => {
  assert.deepEqual(definition(gsm8k, { seed: 7 }), gsm8k.definition);
});

Deno.test("fewer than ten programs a problem are refused: pass@10 needs ten", () => {
  assert.throws(() => definition(humaneval, { samples_per_problem: 9 }), />=10/);
});

Deno.test("no task's definition has lm-eval read documents that ask the hub for a metric", async () => {
  for (const { path } of evaluationFiles()) {
    const text = await Deno.readTextFile(path);
    assert.doesNotMatch(text, /include: "(humaneval|mbpp)/, path);
  }
});
