import {
  FULL,
  LIKELIHOOD_RUNG,
  PROXY,
  Sampling,
  type StudyRequestInput,
  TaskSampling,
  TEXT_RUNG,
  unknownName,
  UsageError,
} from "../../../core/mod.ts";
import { parseWhole } from "../../ground/terminal/parse_values.ts";

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

/** `--proxy-samples` or `--full-samples` as the study's field. */
export function parseSampleCounts(text: string, fidelity: EndRung): Counts {
  const { all, tasks } = parseCounts(text, `--${fidelity}-samples`);
  const by_task = Object.entries(tasks).map(([task, count]) => [task, { [fidelity]: count }]);
  return {
    ...(all === undefined ? {} : { [fidelity]: all }),
    ...(by_task.length === 0 ? {} : { by_task: Object.fromEntries(by_task) }),
  };
}

/** The rungs that every study has. */
export type EndRung = typeof PROXY | typeof FULL;

/** A count of `--samples`, of a rung, and of a task where one is named. */
interface RungCount {
  readonly rung: string;
  readonly task: string | null;
  readonly count: number;
}

function parseRungCount(part: string): RungCount {
  const [name = "", count, ...more] = part.split("=").map((word) => word.trim());
  const dot = name.lastIndexOf(".");
  const rung = name.slice(dot + 1);
  if (rung === "" || count === undefined || more.length > 0) {
    throw new UsageError(
      "Cannot take --samples as RUNG=NUMBER or TASK.RUNG=NUMBER, such as " +
        `proxy=100,half=400,mmlu.half=285, nor as "earlier": current value is "${part}"`,
    );
  }
  const task = dot < 0 ? null : name.slice(0, dot);
  return { rung, task, count: parseWhole(count, `--samples ${name}`, 1) };
}

/**
 * "proxy=100,half=400,full=2000,mmlu.half=285" as the study's field: rungs in ascending order, what
 * is named between the proxy and the full evaluation being the user's own. "earlier": those that an
 * earlier study advises.
 */
export function parseRungs(text: string): Counts {
  if (text.trim() === "earlier") return { ladder: "earlier" };
  const given = text.split(",").map(parseRungCount);
  const rungs = [...new Set(given.map(({ rung }) => rung))];
  const texts = rungs[0] === TEXT_RUNG ? 1 : 0;
  const answers = rungs[texts] === LIKELIHOOD_RUNG ? 1 : 0;
  const misplaced = rungs.indexOf(PROXY) > texts + answers || rungs.indexOf(TEXT_RUNG) > 0 ||
    rungs.indexOf(LIKELIHOOD_RUNG) > texts ||
    (rungs.includes(FULL) && rungs.at(-1) !== FULL);
  if (misplaced) {
    throw new UsageError(
      `Cannot take --samples "${text}": write its rungs in ascending order, ${PROXY} first and ` +
        `${FULL} last`,
    );
  }
  const all = new Map<string, number>();
  const own = new Map<string, Record<string, number>>();
  for (const { rung, task, count } of given) {
    const before = task === null ? all.get(rung) : own.get(rung)?.[task];
    if (before !== undefined) {
      throw new UsageError(`Cannot take --samples "${text}" as it says a number twice`);
    }
    if (task === null) all.set(rung, count);
    else own.set(rung, { ...own.get(rung), [task]: count });
  }
  if (texts === 1 && own.has(TEXT_RUNG)) {
    throw new UsageError(
      `Cannot take --samples "${text}" as the rung ${TEXT_RUNG} counts windows of every text alike: ` +
        `write ${TEXT_RUNG}=NUMBER`,
    );
  }
  if (own.has(LIKELIHOOD_RUNG)) {
    throw new UsageError(
      `Cannot take --samples "${text}" as the rung ${LIKELIHOOD_RUNG} counts samples of every ` +
        `benchmark that generates alike: write ${LIKELIHOOD_RUNG}=NUMBER`,
    );
  }
  const ends: readonly string[] = [TEXT_RUNG, LIKELIHOOD_RUNG, PROXY, FULL];
  const between = rungs.filter((rung) => !ends.includes(rung)).map((fidelity) => ({
    fidelity,
    samples: all.get(fidelity),
    by_task: own.get(fidelity),
  }));
  const tasks = new Set([PROXY, FULL].flatMap((rung) => Object.keys(own.get(rung) ?? {})));
  return withoutUndefined({
    kl: all.get(TEXT_RUNG),
    likelihood: all.get(LIKELIHOOD_RUNG),
    proxy: all.get(PROXY),
    full: all.get(FULL),
    by_task: tasks.size === 0 ? undefined : Object.fromEntries(
      [...tasks].map((task) => [
        task,
        withoutUndefined({ proxy: own.get(PROXY)?.[task], full: own.get(FULL)?.[task] }),
      ]),
    ),
    between: between.length === 0 ? undefined : between.map(withoutUndefined),
  });
}

/** An object without the fields that nobody gave. */
function withoutUndefined<T extends object>(
  fields: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]: Exclude<T[K], undefined> };
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
