/** Prints every task of plugins/evaluation as the wire has it: the Python tests use the real ones. */
import type { Plugin } from "../../core/contract/plugin.ts";
import { wireTask } from "../../core/contract/to_wire_task.ts";
import { evaluationFiles } from "../fixtures/evaluation_files.ts";

const plugins = await Promise.all(
  evaluationFiles().map(async ({ url }) => {
    const module: { default: Plugin } = await import(url.href);
    return module.default;
  }),
);
const scorers = plugins.filter((one) => one.kind === "scorer");
const tasks = plugins.filter((one) => one.kind === "task");
const find = (name: string) => scorers.find((one) => one.name === name)!;
console.log(JSON.stringify(tasks.map((task) => wireTask(task, null, find))));
