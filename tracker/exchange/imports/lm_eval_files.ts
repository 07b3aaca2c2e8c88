import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { quotedText, UsageError } from "../../../core/mod.ts";
import { readText } from "../../ground/storage/plain_file.ts";
import { LARGEST_FILE } from "../../lab/data/parse_json.ts";
import { reasonOf } from "./foreign_values.ts";
import { parsePythonJson } from "./python_json.ts";

const Version = z.union([z.string(), z.number(), z.null()]);
const Fields = z.record(z.string(), z.unknown());

/** What an import reads of a results file; lm-eval 0.4 writes more, and early ones less. */
export const LmEvalResults = z.looseObject({
  results: z.record(z.string(), Fields),
  configs: z.record(z.string(), Fields).default({}),
  versions: z.record(z.string(), Version).default({}),
  "n-shot": z.record(z.string(), z.number().nullable()).default({}),
  higher_is_better: z.record(z.string(), z.record(z.string(), z.boolean().nullable())).default({}),
  "n-samples": z.record(z.string(), z.looseObject({ effective: z.number() })).default({}),
  config: Fields.default({}),
  date: z.number().nullable().default(null),
  model_name: z.string().nullable().default(null),
  model_source: z.string().nullable().default(null),
  total_evaluation_time_seconds: z.coerce.number().nullable().default(null),
});
export type LmEvalResults = z.infer<typeof LmEvalResults>;

/** A results file with what it says. */
export interface ResultsFile {
  readonly folder: string;
  /** The moment in its name, which its samples files have too; it also orders the files. */
  readonly date_id: string;
  readonly content: LmEvalResults;
  /** The model's name, also where an early lm-eval did not write it. */
  readonly model: string;
}

/** Folders below the one that is named: a folder per model, and one per run at most. */
const DEPTH = 3;

async function jsonFiles(folder: string, depth = DEPTH): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((one) => one.isFile() && one.name.endsWith(".json"));
  const folders = depth === 0 ? [] : entries.filter((one) => one.isDirectory());
  const inside = await Promise.all(
    folders.map((one) => jsonFiles(join(folder, one.name), depth - 1)),
  );
  return [...files.map((one) => join(folder, one.name)), ...inside.flat()].sort();
}

/**
 * The file's content; null where it is another JSON file. A torn results file is refused: without it
 * the older figures of its tasks would stand for the newer ones.
 */
function readResults(path: string): LmEvalResults | null {
  const isResults = basename(path).startsWith("results");
  let content: unknown;
  try {
    content = parsePythonJson(readText(path, LARGEST_FILE));
  } catch (error) {
    if (!isResults) return null;
    throw new UsageError(
      `Cannot import ${path} as lm-eval's results: ${
        quotedText(reasonOf(error), 200)
      }. Where it was cut ` +
        "off, copy it again, or move it out of the folder: older results of its tasks are taken then",
    );
  }
  const parsed = LmEvalResults.safeParse(content);
  if (parsed.success) return parsed.data;
  if (!isResults) return null;
  const issue = parsed.error.issues[0];
  throw new UsageError(
    `Cannot import ${path} as lm-eval's results: ${issue?.path.join(".")}: ${issue?.message}`,
  );
}

function modelName(content: LmEvalResults, path: string): string {
  const args = content.config["model_args"];
  const said = typeof args === "string"
    ? /(?:pretrained|model|path)=([^,]+)/.exec(args)?.[1]
    : null;
  return content.model_name ?? said ?? basename(dirname(path));
}

/** Every results file in a folder, oldest first. */
export async function findResults(directory: string): Promise<ResultsFile[]> {
  const root = resolve(directory);
  let paths: string[];
  try {
    paths = await jsonFiles(root);
  } catch (error) {
    throw new UsageError(`Cannot import the folder ${root}: ${(error as Error).message}`);
  }
  const files: ResultsFile[] = [];
  for (const path of paths) {
    const content = readResults(path);
    if (content === null) continue;
    const date_id = /_(\d{4}-\d\d-\d\dT[\d.-]+)\.json$/.exec(path)?.[1] ?? "";
    files.push({ folder: dirname(path), date_id, content, model: modelName(content, path) });
  }
  if (files.length === 0) {
    throw new UsageError(
      `Cannot import the folder ${root} as it holds no results of lm-eval (results_….json): give what --output_path named`,
    );
  }
  return files.sort((a, b) => a.date_id < b.date_id ? -1 : a.date_id > b.date_id ? 1 : 0);
}
