import type { BenchmarkSet, Task } from "../contract/plugin.ts";
import type { DeviceFacts, Facts } from "../schemas/facts.ts";
import type { RunRequest } from "../schemas/request.ts";
import { onRung } from "../schemas/rungs.ts";
import type { Rung } from "../schemas/spec.ts";

/**
 * Without a sandbox, the tasks whose answers are programs cannot be had, and every set says why;
 * the others are measured. A user may let such programs run all the same.
 */
export function runnableTasks(
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
  { sandbox_problem }: DeviceFacts,
  { allow_unsafe_code }: Pick<RunRequest, "allow_unsafe_code">,
): { tasks: readonly Task[]; sets: readonly BenchmarkSet[] } {
  const refused = tasks.filter((task) => task.runs_code === true);
  const problem = sandbox_problem ?? null;
  if (problem === null || allow_unsafe_code || refused.length === 0) return { tasks, sets };
  const reason = `the code that a model writes runs in a sandbox only, and ${problem}, or accept ` +
    `the risk with --unsafe-code`;
  const reasons = Object.fromEntries(refused.map((task) => [task.name, reason]));
  return {
    tasks: tasks.filter((task) => task.runs_code !== true),
    sets: [
      ...sets.map((set) => ({ ...set, reasons: { ...set.reasons, ...reasons } })),
      // Names that choose such a task without a set stand for nothing else.
      ...refused.map((task) => ({
        datasets: [task.name, ...task.datasets],
        dataset_class: "code" as const,
        tasks: [task.name],
        reasons,
      })),
    ],
  };
}

/** Said at the start of a study that runs programs without a sandbox. */
export function unsafeCodeWarning(
  { allow_unsafe_code }: Pick<RunRequest, "allow_unsafe_code">,
  tasks: readonly Task[],
): string[] {
  const names = tasks.filter((task) => task.runs_code === true).map((task) => task.name);
  if (!allow_unsafe_code || names.length === 0) return [];
  return [
    `The programs that the model writes for ${names.join(", ")} run without a sandbox, as ` +
    `--unsafe-code was given: they may do anything that you may`,
  ];
}

/** Answers drawn of a task for each of its samples: of one whose answers are programs, several. */
export function answersDrawn(
  { definition, runs_code }: Task,
  { samples_per_problem }: Pick<RunRequest, "samples_per_problem">,
): number {
  const asked = runs_code === true ? samples_per_problem : undefined;
  return asked ?? Number(definition?.["repeats"] ?? 1);
}

/** Said at the start on a CPU, where programs take longer than all other tasks together. */
export function programsNote(
  rungs: readonly Rung[],
  tasks: readonly Task[],
  { device: { device }, model }: Facts,
  request: Pick<RunRequest, "samples_per_problem">,
): string[] {
  const drawn = tasks.filter((task) => task.runs_code === true);
  if (drawn.length === 0 || device !== "cpu" || model.source === "endpoint") return [];
  return drawn.map((task) => {
    const { name, definition } = task;
    const counts = rungs.map(({ fidelity, samples }) =>
      `${samples[name] ?? "all"} ${onRung(fidelity)}`
    );
    const repeats = answersDrawn(task, request);
    const { max_gen_toks } = Object(definition?.["generation_kwargs"]);
    return `${name} draws ${repeats} programs of up to ${max_gen_toks} tokens for each problem ` +
      `(${counts.join(", ")}) of every trial, which takes long ` +
      "on a CPU: its progress tells the time that remains, and --limit takes fewer problems";
  });
}
