import {
  Sampling,
  type StudyRequestInput,
  TaskSampling,
  unknownName,
  UsageError,
} from "../../../core/mod.ts";
import { parseWhole } from "./parse_values.ts";

type Counts = NonNullable<StudyRequestInput["samples"]>;

/** "100" for every task, "mmlu=100" for one; several by commas. */
function parseCounts(
  text: string,
  option: string,
): { all?: number; tasks: Record<string, number> } {
  const found: { all?: number; tasks: Record<string, number> } = { tasks: {} };
  for (const part of text.split(",")) {
    const words = part.split("=").map((word) => word.trim());
    const [task = "", count] = words;
    if (words.length > 2 || (count !== undefined && task === "")) {
      throw new UsageError(
        `Cannot take ${option} as a number or TASK=NUMBER, such as 100 or mmlu=100,gsm8k=50: ` +
          `current value is "${part}"`,
      );
    }
    const twice = count === undefined ? found.all !== undefined : task in found.tasks;
    if (twice) throw new UsageError(`Cannot take ${option} "${text}" as it says a number twice`);
    if (count === undefined) found.all = parseWhole(task, option, 1);
    else found.tasks[task] = parseWhole(count, option, 1);
  }
  return found;
}

/** `--proxy-samples` and `--full-samples` as the study's field. */
export function parseSampleCounts(proxy: string | undefined, full: string | undefined): Counts {
  const counts: Counts = {};
  const given = { proxy: [proxy, "--proxy-samples"], full: [full, "--full-samples"] } as const;
  for (const fidelity of ["proxy", "full"] as const) {
    const [text, option] = given[fidelity];
    if (text === undefined) continue;
    const { all, tasks } = parseCounts(text, option);
    if (all !== undefined) counts[fidelity] = all;
    for (const [task, count] of Object.entries(tasks)) {
      counts.by_task = {
        ...counts.by_task,
        [task]: { ...counts.by_task?.[task], [fidelity]: count },
      };
    }
  }
  return counts;
}

/** A value as its schema takes it: true, false, a number, else the word. */
function plain(value: string): string | number | boolean {
  const known = { true: true, false: false }[value];
  if (known !== undefined) return known;
  return value === "" || Number.isNaN(Number(value)) ? value : Number(value);
}

/**
 * "strategy=random,total_limit=100,gsm8k.limit=50" as the study's field; its schema checks values.
 * A field with a task's name before it holds for that task alone.
 */
export function parseSampling(text: string): NonNullable<StudyRequestInput["sampling"]> {
  const fields: Record<string, unknown> = {};
  const by_task: Record<string, Record<string, unknown>> = {};
  for (const part of text.split(",")) {
    const [name = "", value = ""] = part.split("=").map((word) => word.trim());
    const dot = name.lastIndexOf(".");
    const field = name.slice(dot + 1);
    const known = Object.keys(TaskSampling.shape);
    if (!known.includes(field)) {
      throw new UsageError(unknownName("field of --sampling", field, known));
    }
    if (dot < 0) fields[field] = plain(value);
    else (by_task[name.slice(0, dot)] ??= {})[field] = plain(value);
  }
  const parsed = Sampling.safeParse(
    Object.keys(by_task).length === 0 ? fields : { ...fields, by_task },
  );
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new UsageError(
    `Cannot take --sampling, ${issue?.path.join(".")}, as ${issue?.message}: current value is ` +
      `"${text}"`,
  );
}
