import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { existsSync } from "node:fs";
import { z } from "zod";
import { quotedText, type SampleResult, UsageError } from "../../../core/mod.ts";
import { readText } from "../../ground/storage/plain_file.ts";
import { LARGEST_FILE } from "../../lab/data/parse_json.ts";
import { reasonOf } from "./foreign_values.ts";
import type { ResultsFile } from "./lm_eval_files.ts";
import { parsePythonJson } from "./python_json.ts";

const Logged = z.looseObject({
  doc_id: z.union([z.number(), z.string()]),
  doc: z.unknown(),
  target: z.unknown(),
  arguments: z.record(z.string(), z.record(z.string(), z.unknown())).catch({}),
  filtered_resps: z.array(z.unknown()),
  filter: z.string().default("none"),
  metrics: z.array(z.string()).optional(),
  doc_hash: z.string().optional(),
  prompt_hash: z.string().default(""),
});
type Logged = z.infer<typeof Logged>;

/** A metric's value of one sample; a perplexity's is the log-likelihood before its weight. */
function scoreOf(sample: Logged, metric: string): number | null {
  const value = sample[metric];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === "boolean") return Number(first);
  return typeof first === "number" ? first : null;
}

function pairOf(response: unknown): number {
  return Number(Array.isArray(response) ? response[0] : response);
}

/** What the model chose, what was right, and the log-likelihood of the right one (nats). */
function chosen(sample: Logged, metric: string) {
  const choices = Object.values(sample.arguments).map((one) => String(one["arg_1"]).trim());
  const values = sample.filtered_resps.map(pairOf);
  const weighed = values.map((value, i) =>
    metric === "acc_norm" ? value / Math.max(1, choices[i]?.length ?? 1) : value
  );
  const best = weighed.indexOf(Math.max(...weighed));
  const target = String(sample.target);
  const right = /^\d+$/.test(target) ? Number(target) : choices.indexOf(target.trim());
  return {
    answer: choices[best] ?? null,
    gold: choices[right] ?? target,
    log_likelihood: values[right] ?? null,
  };
}

function outcome(sample: Logged, metric: string, output_type: unknown) {
  const [first] = sample.filtered_resps;
  const gold = String(sample.target);
  if (output_type === "multiple_choice") return chosen(sample, metric);
  if (output_type === "loglikelihood") {
    const greedy = Array.isArray(first) && String(first[1]) === "True";
    return {
      answer: greedy ? gold.trim() : null,
      gold: gold.trim(),
      log_likelihood: pairOf(first),
    };
  }
  if (output_type === "loglikelihood_rolling") {
    return { answer: null, gold: null, log_likelihood: pairOf(first) };
  }
  const text: unknown = Array.isArray(first) ? first[0] : first;
  return {
    answer: typeof text === "string" ? text : JSON.stringify(text ?? null),
    gold,
    log_likelihood: null,
  };
}

function sampleOf(line: string, task: string, output_type: unknown): SampleResult | null {
  const sample = Logged.parse(parsePythonJson(line));
  const metrics = sample.metrics ??
    Object.keys(sample).filter((key) => scoreOf(sample, key) !== null);
  const metric = metrics.find((one) => scoreOf(sample, one) !== null);
  if (metric === undefined) return null;
  const id = String(sample.doc_id);
  const hash = sample.doc_hash ??
    createHash("sha256").update(JSON.stringify(sample.doc)).digest("hex");
  return {
    task,
    sample_id: sample.filter === "none" ? id : `${id} ${sample.filter}`,
    sample_hash: hash,
    prompt_hash: sample.prompt_hash.slice(0, 16),
    score: scoreOf(sample, metric)!,
    ...outcome(sample, metric, output_type),
  };
}

/**
 * The samples that lm-eval logged of a task, scored by its first metric; empty where it logged
 * none.
 */
export function readTaskSamples(
  { folder, date_id, content }: ResultsFile,
  task: string,
): SampleResult[] {
  const name = `samples_${task}_${date_id}.jsonl`;
  const path = join(folder, name);
  // A task's name comes from the file: one with a slash in it would lead out of the folder.
  if (name.includes("\0") || basename(path) !== name || !existsSync(path)) return [];
  let text: string;
  try {
    text = readText(path, LARGEST_FILE);
  } catch (error) {
    throw new UsageError(`Cannot import ${path}: ${(error as Error).message}`);
  }
  const output_type = content.configs[task]?.["output_type"];
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    try {
      return sampleOf(line, task, output_type) ?? [];
    } catch (error) {
      throw new UsageError(
        `Cannot import ${path}: line ${index + 1}: ${quotedText(reasonOf(error), 200)}`,
      );
    }
  });
}
