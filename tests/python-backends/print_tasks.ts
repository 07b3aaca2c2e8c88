/** Prints every task of plugins/evaluation as the wire has it: the Python tests use the real ones. */
import type { Task } from "../../core/contract/plugin.ts";
import { wireTask } from "../../core/contract/wire_task.ts";

const folder = new URL("../../plugins/evaluation/", import.meta.url);
const tasks = [];
for (const entry of Deno.readDirSync(folder)) {
  if (!/^(?!_|agent\.ts).*\.ts$/.test(entry.name)) continue;
  // Every such file of the folder exports a task: tests/plugins checks it.
  const module: { default: Task } = await import(new URL(entry.name, folder).href);
  tasks.push(wireTask(module.default, null));
}
console.log(JSON.stringify(tasks));
