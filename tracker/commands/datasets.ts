import {
  type BenchmarkSet,
  FULL,
  isShare,
  PROXY,
  type Task,
  unknownName,
  UsageError,
} from "../../core/mod.ts";
import { discoverPlugins } from "../discover.ts";
import { textTable } from "../terminal/table.ts";

/** Where a benchmark's rows come from, the hub's name first. */
function sourceOf(task: Task): string {
  const { definition, data_file, shipped } = task;
  if (shipped) return data_file === null ? "generated here" : "comes with pare";
  if (data_file === null) return "your own file";
  return `${String(definition?.["dataset_path"])}, or ${data_file} of --data-dir`;
}

function taskRow(task: Task): string[] {
  const { name, summary, proxy_samples, full_samples, few_shot, chance } = task;
  return [
    name,
    summary,
    String(proxy_samples),
    String(full_samples ?? "all"),
    String(few_shot),
    isShare(task.reported_metric) && chance !== null ? String(chance) : "–",
    sourceOf(task),
  ];
}

/** What a word asks for, and what of it cannot be had. */
function setRow({ datasets, tasks, reasons, weights }: BenchmarkSet, all: readonly Task[]) {
  const known = (name: string) => all.some((task) => task.name === name);
  const shown = (name: string) =>
    weights?.[name] === undefined ? name : `${name} (counts ${weights[name]})`;
  const missing = tasks.filter((name) => !known(name))
    .map((name) => `${name}: ${reasons?.[name] ?? "not there yet"}`);
  return [
    datasets.join(", "),
    tasks.filter(known).map(shown).join(", ") || "none",
    missing.join("; ") || "–",
  ];
}

/** The sets and benchmarks that a word asks for; all where none is given. */
function asked(word: string | undefined, sets: readonly BenchmarkSet[], all: readonly Task[]) {
  if (word === undefined) return { sets, tasks: all };
  const named = sets.filter((set) => set.datasets.includes(word));
  const wanted = new Set(named.flatMap((set) => set.tasks));
  const tasks = all.filter((task) =>
    wanted.has(task.name) || task.name === word || task.datasets.includes(word)
  );
  if (named.length > 0 || tasks.length > 0) return { sets: named, tasks };
  const words = [...sets.flatMap((set) => set.datasets), ...all.map((task) => task.name)];
  throw new UsageError(unknownName("dataset", word, words));
}

/** `pare datasets`: what `--dataset` may say, what it measures, and where the data come from. */
export async function datasetsCommand(
  word: string | undefined,
  options: { plugin?: string[] },
): Promise<void> {
  const registry = await discoverPlugins(options.plugin);
  const all = registry.agents.flatMap((agent) => agent.benchmark_sets ?? []);
  const { sets, tasks } = asked(word, all, registry.tasks);
  if (sets.length > 0) {
    const head = ["--dataset", "benchmarks", "not to be had"];
    console.log(textTable(head, sets.map((set) => setRow(set, registry.tasks))) + "\n");
  }
  const head = ["benchmark", "what it measures", PROXY, FULL, "shots", "chance", "data"];
  if (tasks.length > 0) console.log(textTable(head, tasks.map(taskRow)));
  if (word !== undefined) return;
  console.log(
    "\nSamples: --proxy-samples and --full-samples change the counts, --sampling which are taken. " +
      "--dataset also\ntakes any task, group or tag of lm-eval (piqa, or lm_eval:mmlu for its own " +
      "where a name is taken here), a\ntask file (own.yaml) or a .jsonl of {prompt, answer} or " +
      "{text}; several by commas.",
  );
}
