import type { BenchmarkSet, Task } from "../contract/plugin.ts";
import { UsageError } from "../errors.ts";
import { findBenchmarkSet } from "./dataset_class.ts";
import { tasksMeant } from "./plan_tasks.ts";

const AT_LENGTHS = /^(.+):(\d+(?:\+\d+)*)$/;

/** What says how a task's rows are made, where they are made in a length; null: they are not. */
export function lengthsOf({ definition }: Pick<Task, "definition">): readonly number[] | null {
  const metadata = Object(definition?.["metadata"]);
  return Object(metadata.generator).lengths ?? null;
}

/**
 * The tasks of a name with lengths, in tokens: `ruler_vt:4096`, `ruler:8192+16384`. They have names of
 * their own, as their scores are another benchmark's. Null: the name has none.
 */
export function atLengths(
  asked: string,
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
): Task[] | null {
  const [, name, said] = asked.match(AT_LENGTHS) ?? [];
  if (name === undefined || said === undefined) return null;
  const members = findBenchmarkSet(name, sets)?.tasks;
  const meant = members === undefined
    ? tasksMeant(name, tasks)
    : tasks.filter((task) => members.includes(task.name));
  if (meant.length === 0) return null;
  const fixed = meant.find((task) => lengthsOf(task) === null);
  if (fixed !== undefined) {
    throw new UsageError(
      `Cannot make ${fixed.name} of ${said} tokens as its samples are what they are; RULER's tasks ` +
        `are made of any length, such as ruler_vt:${said}`,
    );
  }
  const lengths = [...new Set(said.split("+").map(Number))];
  return meant.map((task) => {
    const { metadata, ...definition } = Object(task.definition);
    const generator = { ...metadata.generator, lengths };
    return {
      ...task,
      name: `${task.name}_${lengths.join("_")}`,
      summary: `${task.summary}, of ${lengths.join(", ")} tokens`,
      definition: { ...definition, metadata: { ...metadata, generator } },
      datasets: [asked],
    };
  });
}
