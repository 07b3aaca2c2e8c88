import { ignoreUnless } from "../run/counts.ts";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { rounds } from "../fixtures/campaign.ts";
import { type AskedTask, measureEvaluation } from "../benchmarks/evaluation/run_evaluation.ts";
import { wiredTask } from "../fixtures/wired_task.ts";

const DATA = Deno.env.get("PARE_TEST_DATA") ??
  fileURLToPath(new URL("../../../shared/data", import.meta.url));

/** Of these a few rows of each of so many groups. */
const GROUPS: Record<string, number> = { mmlu: rounds(3, 6), bigbench_hard: rounds(1, 3) };
/** Those whose prompts or answers are long take a minute a few samples, on both sides. */
const SAMPLES: Record<string, number> = {
  arc_challenge: rounds(1, 3),
  bigbench_hard: rounds(1, 3),
  gsm8k: rounds(1, 2),
  hellaswag: rounds(1, 3),
  lambada: rounds(8, 20),
  mmlu: rounds(3, 6),
  truthfulqa_generation: rounds(1, 3),
  truthfulqa_mc2: rounds(1, 3),
};
/** Examples before a question at most: 25 of them take half a minute a sample; gsm8k keeps its five. */
const SHOTS: Record<string, number> = {
  arc_challenge: rounds(3, 25),
  hellaswag: rounds(3, 10),
  mmlu: rounds(2, 5),
};
/** Long answers end early, on both sides: the minutes lie in the rest of them. */
const SHORTER = {
  bigbench_hard: {
    generation_kwargs: {
      max_gen_toks: 32,
      until: ["</s>", "Q", "\n\n"],
      do_sample: false,
      temperature: 0,
    },
  },
  gsm8k: {
    generation_kwargs: {
      max_gen_toks: 48,
      until: ["Q:", "</s>", "<|im_end|>"],
      do_sample: false,
    },
  },
};

function metadataOf(definition: Record<string, unknown> | null): Record<string, unknown> {
  return (definition?.["metadata"] ?? {}) as Record<string, unknown>; // a task document's
}

Deno.test({
  name: "every task with data scores each sample of the demo's model as lm-eval alone",
  ignore: ignoreUnless(
    existsSync(DATA),
    "benchmark files are not here: PARE_TEST_DATA names the folder that holds them",
  ),
  async fn() {
    const { tasks } = await discoverPlugins([]);
    const asked: AskedTask[] = tasks.flatMap((task) => {
      // Programs are drawn at a temperature: two runs of one evaluator differ as well.
      const drawn = task.runs_code === true;
      if (task.data_file === null || task.name.startsWith("tiny") || drawn) return [];
      // Prompts that lm-eval alone would cut from the left, and rows that are made: tests of their own.
      const { cut, generator } = metadataOf(task.definition);
      if (cut !== undefined || generator !== undefined) return [];
      const path = task.shipped ? fileURLToPath(task.data_file) : join(DATA, task.data_file);
      if (!existsSync(path)) return [];
      const shorter = SHORTER[task.name as keyof typeof SHORTER];
      const definition = { ...task.definition, ...shorter };
      return [{
        name: task.name,
        task: {
          ...wiredTask(shorter === undefined ? task : { ...task, definition }, path),
          few_shot: Math.min(task.few_shot, SHOTS[task.name] ?? Infinity),
        },
        samples: SAMPLES[task.name] ?? 3,
        groups: GROUPS[task.name] ?? null,
        proxy: false,
      }];
    });
    const result = await measureEvaluation({
      model: "demo",
      threads: 1, // another lane has the other core
      own_batch_size: 16,
      batch_sizes: [4],
      repeats: 1,
      tasks: asked,
    });
    assert.ok(asked.length >= 12, `only ${asked.length} tasks have data`);
    for (const [name, { unequal, samples, largest_difference }] of Object.entries(result.tasks)) {
      console.log(`${name}: ${unequal} of ${samples} unequal, at most ${largest_difference}`);
    }
    const unequal = Object.entries(result.tasks).filter(([, task]) => task.unequal > 0);
    assert.deepEqual(unequal.map(([name]) => name), []);
  },
});
