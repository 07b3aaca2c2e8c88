import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Task } from "../../core/mod.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { readSamples } from "../../tracker/store/rows/sample_file.ts";
import { evaluationFiles } from "../fixtures/evaluation_files.ts";
import { dataDirectory, longModel, ownRows, shortTask } from "../fixtures/hub_data_world.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { must } from "../tiny_model.ts";
import { taskConformance, type TasksRun } from "./task_conformance.ts";
import { wiredTask } from "../fixtures/wired_task.ts";

const FIXTURES = new URL("../fixtures/", import.meta.url);
/** A task of nobody's folder. */
const THIRD_PARTY = fileURLToPath(new URL("generated_words.ts", FIXTURES));
/** Of each task that are scored. */
const ROWS = 2;
const ENVIRONMENT = { environment: "default" };

/** Where a task's rows lie here: shipped, the user's own, invented ones; null: it makes its own. */
function fileOf(task: Task, data_dir: string): string | null {
  const own = task.datasets.find((name) => name.startsWith("custom_"))?.slice("custom_".length);
  if (own !== undefined) return fileURLToPath(new URL(`own_${own}.jsonl`, FIXTURES));
  if (task.data_file === null) return null;
  return task.shipped ? fileURLToPath(task.data_file) : join(data_dir, task.data_file);
}

async function runTasks(tasks: readonly Task[]): Promise<TasksRun> {
  const env = { HF_HUB_OFFLINE: "1" };
  const client = createBackendClient({ home: temporaryFolder("tasks"), env });
  const folder = temporaryFolder("tasks-run");
  const data_dir = dataDirectory(ownRows);
  const model_dir = await longModel();
  const samples_path = join(folder, "samples.parquet");
  try {
    const prepared = must(
      await client.run({
        call: "prepare_data",
        model_dir,
        tasks: tasks.map((task) => wiredTask(task, fileOf(task, data_dir))),
        calibration_path: null,
        calibration_windows: 0,
        calibration_tokens: 8,
        output_dir: folder,
        seed: 1,
        sample_seed: 1,
        sample_seeds: {},
      }, ENVIRONMENT),
    );
    const scored = must(
      await client.run({
        call: "evaluate",
        artifact_dir: model_dir,
        tasks: tasks.map((task) => shortTask(task, fileOf(task, data_dir))),
        selections: prepared.tasks.map(({ task, order }) => ({ task, rows: order.slice(0, ROWS) })),
        fidelity: "full",
        batch_size: 4,
        samples_path,
        seed: 1,
        batched_apart: [],
        answers_path: null,
        answer_chars: 100,
        runtime: null,
        allow_unsafe_code: false,
      }, ENVIRONMENT),
    );
    const samples = await readSamples(samples_path, scored.samples_sha256);
    return { prepared, scored, samples, rows: ROWS };
  } finally {
    await client.close();
  }
}

Deno.test("every task, a third party's too, keeps the contract on the tiny model", async (t) => {
  await shareDefaultEnvironment();
  const { tasks } = await discoverPlugins([THIRD_PARTY]);
  const run = await runTasks(tasks);
  const paths = [...evaluationFiles().map(({ path }) => path), THIRD_PARTY];
  for (const task of tasks) {
    const path = paths.find((one) => one.endsWith(`/${task.name}.ts`)) ?? "no file of its name";
    await t.step(task.name, async (one) => {
      await taskConformance(task, path, run, (name, check) => one.step(name, check));
    });
  }
});
