import type { BenchmarkSet } from "../contract/plugin.ts";
import type { DatasetFacts } from "../schemas/facts.ts";
import type { Spec } from "../schemas/spec.ts";

export type DatasetClass = Spec["dataset_class"];

/** How a class was found: by its set, by a word in the name, or not at all. */
export interface Classified {
  readonly dataset_class: DatasetClass;
  readonly known: "file" | "set" | "word" | "unknown";
  readonly reason: string;
}

/** Words in a dataset's name that tell its class, the more telling first. */
const WORDS: readonly (readonly [DatasetClass, RegExp])[] = [
  ["math", /^gsm|math|arithmetic|^aime|svamp|algebra/],
  ["code", /code|humaneval|mbpp|program|python/],
  ["reasoning", /reason|bbh|bigbench|logic|^arc|commonsense|winogrande/],
  ["chat", /chat|dialog|conversation|instruct|alpaca|assistant|sharegpt/],
  ["general", /general|^default$|^mmlu/],
  ["language", /lambada|wikitext|language|perplexity/],
];

/** A dataset's name without its owner, case and separators: `openai/GSM-8K` is `gsm8k`. */
export function canonicalName(dataset: string): string {
  const last = dataset.trim().split("/").at(-1) ?? "";
  return last.toLowerCase().replace(/[^a-z0-9]+/g, "");
}

/** The names that a dataset lists, separated by commas: `mmlu, gsm8k` asks for both. */
export function datasetNames(dataset: string): string[] {
  return dataset.split(",").map((name) => name.trim()).filter((name) => name !== "");
}

/** Whether a name of a dataset is a task file: by its ending. */
export function isTaskFile(name: string): boolean {
  return /\.ya?ml$/i.test(name.trim());
}

/** The set that a dataset's name stands for. */
export function findBenchmarkSet(
  dataset: string,
  sets: readonly BenchmarkSet[],
): BenchmarkSet | undefined {
  const wanted = canonicalName(dataset);
  return sets.find((set) => set.datasets.some((name) => canonicalName(name) === wanted));
}

/**
 * What kind of dataset this is: a user's file is `custom`; a name is looked up in the benchmark
 * sets, then read for telling words; one that says nothing is treated as chat.
 */
export function classifyDataset(
  dataset: Pick<DatasetFacts, "dataset" | "kind">,
  sets: readonly BenchmarkSet[],
): Classified {
  const name = dataset.dataset;
  const names = datasetNames(name);
  if (dataset.kind !== "file" && names.length > 1) return classifyList(names, sets);
  if (dataset.kind === "file" || /\.jsonl(\.gz)?$/i.test(name)) {
    return { dataset_class: "custom", known: "file", reason: "a file of the user's own" };
  }
  const set = findBenchmarkSet(name, sets);
  if (set !== undefined) {
    const reason = `"${name}" is a ${set.dataset_class} benchmark set`;
    return { dataset_class: set.dataset_class, known: "set", reason };
  }
  const canonical = canonicalName(name);
  const word = WORDS.find(([, pattern]) => pattern.test(canonical));
  if (word !== undefined) {
    return { dataset_class: word[0], known: "word", reason: `the name "${name}" says ${word[0]}` };
  }
  const reason = `the name "${name}" tells no class: it is treated as chat`;
  return { dataset_class: "chat", known: "unknown", reason };
}

/** Several names: their class where it is one, else general. */
function classifyList(names: readonly string[], sets: readonly BenchmarkSet[]): Classified {
  const found = names.map((dataset) => classifyDataset({ dataset, kind: "named" }, sets));
  const classes = new Set(found.map(({ dataset_class }) => dataset_class));
  const [only] = classes;
  return classes.size === 1 && only !== undefined
    ? { dataset_class: only, known: "set", reason: `each of ${names.join(", ")} is ${only}` }
    : {
      dataset_class: "general",
      known: "set",
      reason: `${names.join(", ")} are of several classes: ${[...classes].join(", ")}`,
    };
}
