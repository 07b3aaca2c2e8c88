import {
  type BenchmarkSet,
  FULL,
  isShare,
  PROXY,
  type Task,
  unknownName,
  UsageError,
} from "../../../core/mod.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { textTable } from "../../show/terminal/table.ts";
import type { Datasets } from "../../show/json/json_shapes.ts";
import { jsonText } from "../../show/json/print_json.ts";

/** Where a benchmark's rows come from, the hub's name first. */
function sourceOf(task: Task): string {
  const { definition, data_file, shipped } = task;
  if (shipped) return data_file === null ? "generated here" : "comes with pare";
  if (data_file === null) return "your own file";
  return `${String(definition?.["dataset_path"])}, or ${data_file} of --data-dir`;
}

function benchmarkOf(task: Task): Datasets["benchmarks"][number] {
  const { name, summary, reported_metric: metric, proxy_samples, full_samples, few_shot } = task;
  const chance = isShare(metric) ? task.chance : null;
  const data = sourceOf(task);
  return { name, summary, metric, proxy_samples, full_samples, few_shot, chance, data };
}

/** What a word asks for, and what of it cannot be had. */
function setOf(set: BenchmarkSet, all: readonly Task[]): Datasets["sets"][number] {
  const known = (name: string) => all.some((task) => task.name === name);
  const missing = set.tasks.filter((name) => !known(name));
  return {
    datasets: [...set.datasets],
    benchmarks: set.tasks.filter(known),
    weights: { ...set.weights },
    missing: Object.fromEntries(
      missing.map((name) => [name, set.reasons?.[name] ?? "not there yet"]),
    ),
  };
}

function benchmarkRow(one: Datasets["benchmarks"][number]): string[] {
  return [
    one.name,
    one.summary,
    String(one.proxy_samples),
    String(one.full_samples ?? "all"),
    String(one.few_shot),
    String(one.chance ?? "–"),
    one.data,
  ];
}

function setRow({ datasets, benchmarks, weights, missing }: Datasets["sets"][number]): string[] {
  const shown = (name: string) =>
    weights[name] === undefined ? name : `${name} (counts ${weights[name]})`;
  const reasons = Object.entries(missing).map(([name, why]) => `${name}: ${why}`);
  return [
    datasets.join(", "),
    benchmarks.map(shown).join(", ") || "none",
    reasons.join("; ") || "–",
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
  options: { plugin?: string[]; json?: boolean },
): Promise<void> {
  const registry = await discoverPlugins(options.plugin);
  const all = registry.agents.flatMap((agent) => agent.benchmark_sets ?? []);
  const found = asked(word, all, registry.tasks);
  const sets = found.sets.map((set) => setOf(set, registry.tasks));
  const benchmarks = found.tasks.map(benchmarkOf);
  if (options.json) return console.log(jsonText("datasets", { sets, benchmarks }));
  if (sets.length > 0) {
    const head = ["--dataset", "benchmarks", "not to be had"];
    console.log(textTable(head, sets.map(setRow)) + "\n");
  }
  const head = ["benchmark", "what it measures", PROXY, FULL, "shots", "chance", "data"];
  if (benchmarks.length > 0) console.log(textTable(head, benchmarks.map(benchmarkRow)));
  if (word !== undefined) return;
  console.log(
    "\nSamples: --proxy-samples and --full-samples change the counts, --sampling which are taken. " +
      "--dataset also\ntakes any task, group or tag of lm-eval (piqa, or lm_eval:mmlu for its own " +
      "where a name is taken here), a\ntask file (own.yaml) or a .jsonl of {prompt, answer} or " +
      "{text}; several by commas.",
  );
}
