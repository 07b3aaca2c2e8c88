import type { Task } from "../contract/plugin.ts";
import { unknownName, UsageError } from "../errors.ts";
import { overTasks } from "../evidence/quality.ts";
import { FULL, LIKELIHOOD_RUNG, PROXY, TEXT_RUNG } from "../schemas/fidelity.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Rung } from "../schemas/spec.ts";
import { byTask, limitOf, samplingByTask } from "./plan_tasks.ts";

type Asked = Pick<RunRequest, "samples" | "sampling" | "fidelity">;

/** A count that a user gave, of the rung that it is for. */
type Given = readonly [fidelity: string, count: number | undefined];

/**
 * The rungs of a study, cheapest first: the proxy, those that the user puts between, the full
 * evaluation; before them, where its windows are counted, one of the KL on text alone, and where its
 * samples are, one of the likelihood of the original's answers, which may take more samples than the
 * proxy: what is generated there is then a part of what it knows. Any other rung takes as many samples of a task as the user says of this task, else of all; else
 * the proxy and the full evaluation take the task's own count, and one between takes as many as the
 * rung before it. None takes fewer than the one before, nor more than the last.
 */
export function planRungs(tasks: readonly Task[], request: Asked): Rung[] {
  const { samples, sampling } = request;
  const between = samples.between ?? [];
  checkRungs(request);
  const names = namesOf(request);
  checkTaskNames(names, tasks);
  const counts = byTask(samples.by_task, tasks, "task to count samples of");
  const ownBetween = between.map((rung) =>
    byTask(rung.by_task, tasks, `task to count samples of on ${rung.fidelity}`)
  );
  const ownSampling = samplingByTask(sampling, tasks);
  checkTexts(tasks, samples);
  checkGenerations(tasks, samples);
  const taken = tasks.map((task): Taken[] => {
    const own = counts.get(task.name);
    const full = limitOf(sampling, ownSampling.get(task.name)) ?? own?.full ?? samples.full ??
      task.full_samples;
    const most = (count: number) => full === null ? count : Math.min(count, full);
    const proxy = most(own?.proxy ?? samples.proxy ?? task.proxy_samples);
    const ladder = firstCounts(task, proxy, samples, most);
    for (const [i, rung] of between.entries()) {
      const before = Number(ladder.at(-1)); // the proxy's, or one between
      const wanted = ownBetween[i]!.get(task.name) ?? rung.samples ?? before;
      ladder.push(most(Math.max(before, wanted)));
    }
    return [...ladder, full];
  });
  return names.map((fidelity, height) => ({
    fidelity,
    samples: Object.fromEntries(tasks.flatMap(({ name }, i) => {
      const count = taken[i]![height]; // as many as there are names
      return count === undefined ? [] : [[name, count]];
    })),
  }));
}

/** Samples of a task that a rung takes; null: all; undefined: the rung does not ask the task. */
type Taken = number | null | undefined;

/** The counts of the proxy and of what lies before it: the proxy takes at least as many windows. */
function firstCounts(
  task: Task,
  proxy: number,
  { kl, likelihood }: Pick<RunRequest["samples"], "kl" | "likelihood">,
  most: (count: number) => number,
): Taken[] {
  const text = kl !== undefined && isText(task) ? kl : undefined;
  return [
    ...(kl === undefined ? [] : [text]),
    ...(likelihood === undefined ? [] : [isGenerated(task) ? most(likelihood) : undefined]),
    Math.max(text ?? 0, proxy),
  ];
}

/** Whether a task's answers are generated, as its definition says. */
export function isGenerated(
  { window_tokens, definition, generates }: Pick<
    Task,
    "window_tokens" | "definition" | "generates"
  >,
): boolean {
  if (window_tokens !== null) return false;
  const kind = definition?.["output_type"];
  if (kind !== undefined) return kind === "generate_until";
  return generates === true || definition?.["generation_kwargs"] !== undefined;
}

function checkGenerations(
  tasks: readonly Task[],
  { likelihood }: Pick<RunRequest["samples"], "likelihood">,
): void {
  if (likelihood === undefined || tasks.some(isGenerated)) return;
  throw new UsageError(
    `Cannot take ${likelihood} samples on the rung ${LIKELIHOOD_RUNG} as no benchmark of this study ` +
      "says that it generates answers: add one, such as gsm8k or squad_completion, to --dataset",
  );
}

function isText(task: Task): boolean {
  return overTasks(task.reported_metric) === "perplexity";
}

function checkTexts(tasks: readonly Task[], { kl }: Pick<RunRequest["samples"], "kl">): void {
  if (kl === undefined || tasks.some(isText)) return;
  throw new UsageError(
    `Cannot take ${kl} windows on the rung ${TEXT_RUNG} as no benchmark of this study is a text: add ` +
      "one, such as wikitext2 or a file of {text}, to --dataset",
  );
}

function namesOf({ samples }: Pick<Asked, "samples">): string[] {
  const texts = samples.kl === undefined ? [] : [TEXT_RUNG];
  const answers = samples.likelihood === undefined ? [] : [LIKELIHOOD_RUNG];
  return [
    ...texts,
    ...answers,
    PROXY,
    ...(samples.between ?? []).map(({ fidelity }) => fidelity),
    FULL,
  ];
}

/** Refuses rungs of a request that make no ladder, and a fidelity that is none of them. */
export function checkRungs(request: Omit<Asked, "sampling">): void {
  const names = namesOf(request);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) {
    throw new UsageError(`Cannot put the rung ${twice} between twice: give each its own name`);
  }
  const { fidelity } = request;
  if (fidelity !== undefined && !names.includes(fidelity)) {
    throw new UsageError(unknownName("fidelity", fidelity, names));
  }
  // With two rungs the full evaluation's count stands over the proxy's, as it always did.
  const before: readonly string[] = [TEXT_RUNG, LIKELIHOOD_RUNG];
  if (names.filter((name) => !before.includes(name)).length > 2) checkAscending(request);
}

function checkTaskNames(names: readonly string[], tasks: readonly Task[]): void {
  const named = names.find((name) => tasks.some((task) => task.name === name));
  if (named !== undefined) {
    throw new UsageError(
      `Cannot call a rung ${named} as a benchmark of this study is called so: give it another name`,
    );
  }
}

/** What a user gives, for all tasks and for each, must ascend. */
function checkAscending(
  { samples: { proxy, full, by_task = {}, between = [] } }: Pick<Asked, "samples">,
): void {
  const own = between.map((rung) => rung.by_task ?? {});
  const tasks = new Set([by_task, ...own].flatMap((one) => Object.keys(one)));
  const ladders: Given[][] = [
    [[PROXY, proxy], ...between.map((one): Given => [one.fidelity, one.samples]), [FULL, full]],
    ...[...tasks].map((task): Given[] => [
      [PROXY, by_task[task]?.proxy],
      ...between.map((one): Given => [one.fidelity, one.by_task?.[task]]),
      [FULL, by_task[task]?.full],
    ]),
  ];
  for (const ladder of ladders) {
    const given = ladder.filter(([, count]) => count !== undefined) as [string, number][];
    const wrong = given.findIndex(([, count], i) => i > 0 && count < given[i - 1]![1]);
    if (wrong < 0) continue;
    const [[lower, more], [upper, fewer]] = [given[wrong - 1]!, given[wrong]!];
    throw new UsageError(
      `Cannot take ${fewer} samples on the rung ${upper} as ${lower}, before it, takes ${more}: ` +
        "write rungs in ascending order, each with at least as many samples as the one before",
    );
  }
}
