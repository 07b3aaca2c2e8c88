import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Task, UsageError } from "../../../core/mod.ts";
import type { AskedTask } from "./run_evaluation.ts";
import { wiredTask } from "../../fixtures/wired_task.ts";

interface Wanted {
  readonly name: string;
  readonly task?: string;
  readonly samples: number;
  readonly groups?: number;
  readonly few_shot?: number;
  readonly proxy?: boolean;
}

/** From the files of --data-dir, some shots beside none: prompts of 30 to 1,500 tokens. */
const BENCHMARKS: readonly Wanted[] = [
  { name: "arc_challenge, 0-shot", task: "arc_challenge", samples: 12, few_shot: 0 },
  { name: "arc_challenge, 25-shot", task: "arc_challenge", samples: 2 },
  { name: "hellaswag, 10-shot", task: "hellaswag", samples: 2 },
  { name: "mmlu, 5-shot, 2 subjects", task: "mmlu", samples: 8, groups: 2 },
  { name: "lambada", samples: 16, proxy: true },
  { name: "wikitext2, windows of 512", task: "wikitext2", samples: 4 },
  { name: "gsm8k, 8-shot, generated", task: "gsm8k", samples: 2 },
];
/** What ships with the project. */
const SHIPPED: readonly Wanted[] = [
  { name: "last_words", samples: 24, proxy: true },
  { name: "everyday_choice", samples: 24, proxy: true },
  { name: "demo_text", samples: 4, proxy: true },
  { name: "last_words, generated", task: "last_words", samples: 8 },
];

/** The shipped last words as a task that generates: so that decoding is measured without data. */
function generated(task: Task): Task {
  return {
    ...task,
    metric: "exact_match,none",
    definition: {
      ...task.definition,
      output_type: "generate_until",
      doc_to_target: "{{text.split(' ')[-1]}}",
      generation_kwargs: { do_sample: false, max_gen_toks: 24, until: ["."] },
      metric_list: [{ metric: "exact_match", aggregation: "mean", higher_is_better: true }],
    },
  };
}

function asked(wanted: Wanted, tasks: readonly Task[], dataDir: string | null): AskedTask[] {
  const { name, samples, groups = null, proxy = false } = wanted;
  const task = tasks.find((one) => one.name === (wanted.task ?? name));
  if (task === undefined || task.data_file === null) throw new Error(`no task for ${name}`);
  const path = task.shipped
    ? fileURLToPath(task.data_file)
    : dataDir === null
    ? null
    : join(dataDir, task.data_file);
  if (path === null || !existsSync(path)) return [];
  const made = name.endsWith("generated") && task.shipped ? generated(task) : task;
  const few_shot = wanted.few_shot ?? task.few_shot;
  return [{ name, task: { ...wiredTask(made, path), few_shot }, samples, groups, proxy }];
}

/** The benchmark's tasks: those whose data are there. With `quick` the shipped ones, fewer rows. */
export function evaluationTasks(
  tasks: readonly Task[],
  dataDir: string | undefined,
  quick: boolean,
): AskedTask[] {
  if (dataDir !== undefined && !existsSync(dataDir)) {
    throw new UsageError(`Cannot read --data-dir ${dataDir}: there is no such folder`);
  }
  const folder = dataDir === undefined ? null : resolve(dataDir);
  const wanted = quick ? SHIPPED : [...SHIPPED, ...BENCHMARKS];
  return wanted.flatMap((one) => asked(one, tasks, folder));
}
