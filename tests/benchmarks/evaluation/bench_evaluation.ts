/**
 * Measures pare's evaluation beside plain lm-eval's, one model, the same samples, in one run.
 *
 *     deno task bench:evaluation --data-dir ~/benchmarks   # the demo's model; about eight minutes
 *     deno task bench:evaluation                           # the shipped benchmark alone
 *     deno task bench:evaluation --only gsm8k,mmlu …       # those whose names begin so
 *     deno task bench:evaluation --quick                   # the tiny model: tries the benchmark
 *
 * Exits 1 where a sample scores otherwise than in lm-eval.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { UsageError } from "../../../core/mod.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { BATCH_SIZE } from "../../../tracker/lab/runner/evaluate_artifact.ts";
import { ratioTable } from "../tracker/ratio_table.ts";
import {
  evaluationNotes,
  proxyRows,
  rateRows,
  scoreTable,
  unequalSamples,
} from "./evaluation_rows.ts";
import { evaluationTasks } from "./evaluation_tasks.ts";
import { type AskedTask, measureEvaluation } from "./run_evaluation.ts";

/** lm-eval's batch sizes: which is fastest on a CPU depends on the lengths. */
const BATCH_SIZES = [2, 8];

/** Those whose names begin with one of the words, which commas separate. */
function only(tasks: readonly AskedTask[], words: string | undefined): AskedTask[] {
  const wanted = words?.split(",") ?? [""];
  const found = tasks.filter(({ name }) => wanted.some((word) => name.startsWith(word)));
  if (found.length > 0) return found;
  const known = tasks.map(({ name }) => name).join("; ");
  throw new UsageError(`Cannot find a task for --only ${words}. There are: ${known}`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      "data-dir": { type: "string" },
      only: { type: "string" },
      quick: { type: "boolean", default: false },
    },
  });
  const { tasks } = await discoverPlugins([]);
  const load = Deno.loadavg()[0]!;
  const result = await measureEvaluation({
    model: values.quick ? "tiny" : "demo",
    threads: navigator.hardwareConcurrency,
    own_batch_size: BATCH_SIZE,
    batch_sizes: BATCH_SIZES,
    repeats: values.quick ? 3 : 5,
    tasks: only(evaluationTasks(tasks, values["data-dir"], values.quick), values.only),
  });
  const unequal = unequalSamples(result.tasks);
  console.log(`\n${ratioTable([...rateRows(result.tasks), ...proxyRows(result.proxy)])}\n`);
  console.log(`${scoreTable(result.tasks)}\n`);
  console.log(`Unequal scores: ${unequal} (goal: 0)\n`);
  for (const note of evaluationNotes(result, [load, Deno.loadavg()[0]!])) console.log(note);
  return unequal === 0 ? 0 : 1;
}

if (import.meta.main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`bench: ${error.message}`);
    process.exitCode = 2;
  }
}
