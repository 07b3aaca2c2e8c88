import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import {
  type DatasetFacts,
  datasetNames,
  isTaskFile,
  quotedText,
  UsageError,
} from "../../../core/mod.ts";
import { LARGEST_FILE, NoJson, parseRow } from "./parse_json.ts";

type Format = NonNullable<DatasetFacts["format"]>;

/** Whether a dataset was given as one file: by its ending; a list of names is none. */
export function isDatasetFile(dataset: string): boolean {
  if (!/\.jsonl(\.gz)?$/i.test(dataset.trim())) return false;
  return datasetNames(dataset).length === 1 || existsSync(dataset);
}

/** A dataset that was read: its facts, and those of each file of rows that stands in a list of names. */
export interface ReadDataset {
  readonly facts: DatasetFacts;
  /** By name; what is wrong with one that cannot be used. */
  readonly files: ReadonlyMap<string, DatasetFacts | UsageError>;
}

/** Reads what a dataset names, each file once. A broken file of a list is no fault of the whole. */
export async function readDataset(dataset: string): Promise<ReadDataset> {
  const facts = await inspectDataset(dataset);
  const listed = facts.kind === "file" ? [] : datasetNames(dataset).filter(isDatasetFile);
  const read = listed.map(async (name) => {
    const found = inspectDataset(name).catch((error: unknown) => {
      if (error instanceof UsageError) return error;
      throw error;
    });
    return [name, await found] as const;
  });
  return { facts, files: new Map(await Promise.all(read)) };
}

/**
 * Facts of the dataset that the user named. A .jsonl or .jsonl.gz file is read whole: every line
 * must hold `{prompt, answer}` or `{text}`, all lines the same; anything else throws a UsageError
 * that names the line. Any other name has no file and stays a name.
 */
export async function inspectDataset(dataset: string): Promise<DatasetFacts> {
  if (!isDatasetFile(dataset)) {
    for (const name of datasetNames(dataset)) await refusePath(name);
    return { dataset, kind: "named", path: null, format: null, rows: null, sha256: null };
  }
  const path = await realPath(dataset);
  const bytes = await Deno.readFile(path);
  const text = decode(bytes, dataset);
  const { format, rows } = inspectLines(text, dataset);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { dataset, kind: "file", path, format, rows, sha256 };
}

/** A name that can only be meant as a file is no benchmark that pare does not know. */
async function refusePath(dataset: string): Promise<void> {
  if (isTaskFile(dataset) || isDatasetFile(dataset)) return;
  const meant = /^(\.{0,2}\/|~)|\.(csv|gz|json|parquet|tsv|txt)$/i.test(dataset) ||
    await Deno.stat(dataset).then(({ isFile }) => isFile, () => false);
  if (!meant) return;
  throw new UsageError(
    `Cannot use ${dataset} as a dataset: a file must be a .jsonl or .jsonl.gz of {"prompt", ` +
      `"answer"} or {"text"}, or an lm-eval task file (.yaml)`,
  );
}

/** Where a file of rows lies that is one, and not too large. */
async function realPath(dataset: string): Promise<string> {
  const path = await Deno.realPath(dataset).catch((error: unknown) => {
    const reason = error instanceof Deno.errors.NotFound ? "there is no such file" : String(error);
    throw new UsageError(`Cannot read the dataset ${dataset}: ${reason}`);
  });
  const { isFile, size } = await Deno.stat(path);
  if (!isFile) throw new UsageError(`Cannot read the dataset ${dataset}: it is no file`);
  if (size > LARGEST_FILE) throw tooLarge(dataset);
  return path;
}

function tooLarge(dataset: string): UsageError {
  return new UsageError(
    `Cannot read the dataset ${dataset}: it holds more than ${LARGEST_FILE / 1e6} MB`,
  );
}

function decode(bytes: Uint8Array, dataset: string): string {
  try {
    const packed = dataset.toLowerCase().endsWith(".gz");
    const plain = packed ? gunzipSync(bytes, { maxOutputLength: LARGEST_FILE }) : bytes;
    return new TextDecoder("utf-8", { fatal: true }).decode(plain); // without a byte order mark
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(dataset);
    const reason = error instanceof TypeError ? "it is not UTF-8" : "it is no whole gzip file";
    throw new UsageError(`Cannot read the dataset ${dataset}: ${reason}`);
  }
}

const [NEWLINE, SPACE, TAB, RETURN] = [10, 32, 9, 13];

/** The line behind those that are empty: where it begins, and how many they are. */
function nextLine(text: string, begin: number): { from: number; empty: number } {
  let from = begin;
  let empty = 0;
  for (let at = begin; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === NEWLINE) {
      empty++;
      from = at + 1;
    } else if (letter !== SPACE && letter !== TAB && letter !== RETURN) return { from, empty };
  }
  return { from: text.length, empty };
}

/**
 * Lines that hold something, with their numbers from 1, one after the other: of a few packed kilobytes there
 * may be as many as a list cannot hold, and a hundred million empty ones, which are only counted.
 */
function* linesOf(text: string): Generator<[number: number, line: string]> {
  let number = 1;
  for (let at = 0;;) {
    const { from, empty } = nextLine(text, at);
    if (from === text.length) return;
    number += empty;
    const found = text.indexOf("\n", from);
    const end = found < 0 ? text.length : found;
    yield [number++, text.slice(from, end)];
    at = end + 1;
  }
}

/** Format and number of rows of a dataset's text; `dataset` names it in messages. */
export function inspectLines(text: string, dataset: string): { format: Format; rows: number } {
  let first: { format: Format; line: number } | null = null;
  let rows = 0;
  let said = false;
  for (const [number, line] of linesOf(text)) {
    if (line.trim() === "") continue;
    const refuse = (reason: string): never => {
      throw new UsageError(`Cannot read line ${number} of ${dataset} as ${reason}`);
    };
    const row = parse(line, refuse);
    const found = formatOf(row, refuse);
    said ||= Object.values(row).some((value) => typeof value === "string" && value.trim() !== "");
    first ??= { format: found, line: number };
    if (found !== first.format) {
      refuse(
        `every line must hold the same fields: it holds ${found}, line ${first.line} ` +
          `holds ${first.format}`,
      );
    }
    rows += 1;
  }
  if (first === null) throw new UsageError(`Cannot use the dataset ${dataset}: it holds no rows`);
  // Some corpora have empty rows between their texts: only a file of nothing else is none.
  if (!said) throw new UsageError(`Cannot use the dataset ${dataset}: all its texts are empty`);
  return { format: first.format, rows };
}

function parse(line: string, refuse: (reason: string) => never): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseRow(line);
  } catch (error) {
    if (error instanceof NoJson) refuse(error.message);
    throw error;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuse(`it must be an object: it is ${JSON.stringify(value).slice(0, 60)}`);
  }
  // An object that is no array, by the check above.
  return value as Record<string, unknown>;
}

function formatOf(row: Record<string, unknown>, refuse: (reason: string) => never): Format {
  const names = "prompt" in row || "answer" in row ? ["prompt", "answer"] : ["text"];
  for (const name of names) {
    if (!(name in row)) {
      const found = quotedText(Object.keys(row).join(", "), 200) || "none";
      refuse(
        `it must hold {"prompt", "answer"} or {"text"}: it has no "${name}" (found: ${found})`,
      );
    }
    const value = row[name];
    if (typeof value !== "string") {
      refuse(`its "${name}" must be text: it is ${JSON.stringify(value).slice(0, 60)}`);
    }
    if (name !== "text" && value === "") refuse(`its "${name}" must not be empty`);
  }
  return names.length === 2 ? "prompt_answer" : "text";
}
