/** Prints every task of plugins/evaluation as the wire has it: the Python tests use the real ones. */
import type { Task } from "../../core/contract/plugin.ts";
import { wireTask } from "../../core/contract/to_wire_task.ts";
import { evaluationFiles } from "../fixtures/evaluation_files.ts";

const tasks = [];
for (const { url, path } of evaluationFiles()) {
  if (path.endsWith("agent.ts")) continue;
  // Every such file of the folder exports a task: tests/plugins checks it.
  const module: { default: Task } = await import(url.href);
  tasks.push(wireTask(module.default, null));
}
console.log(JSON.stringify(tasks));
