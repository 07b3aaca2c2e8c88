import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readText } from "../../ground/storage/plain_file.ts";
import { nearestName, quotedText, UsageError } from "../../../core/mod.ts";

/** A file of labels, read. */
export interface Gold {
  readonly sha256: string;
  /** By the sample's id or hash, as the file names it. */
  readonly by: "sample_id" | "sample_hash";
  readonly labels: ReadonlyMap<string, readonly number[]>;
}

/** Bytes of a file: labels are written by people. */
const LONGEST = 50_000_000;
const WORDS: Readonly<Record<string, number>> = {
  ...{ yes: 1, true: 1, right: 1, correct: 1, pass: 1 },
  ...{ no: 0, false: 0, wrong: 0, incorrect: 0, fail: 0 },
};

/** Rows of CSV as RFC 4180 has it, with quotes and line ends within them. */
export function csvRows(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const ends = /[,\n]|$/g; // of a field that is not quoted, or behind one that is
  for (let at = 0; at <= text.length;) {
    const [value, after] = text[at] === '"' ? quotedField(text, at) : ["", at];
    ends.lastIndex = after;
    const { index, 0: end } = ends.exec(text)!; // the text's own end is one
    row.push(value + text.slice(after, index).replace(/\r$/, ""));
    at = index + 1;
    if (end === ",") continue;
    if (row.length > 1 || row[0]!.trim() !== "") rows.push(row);
    row = [];
  }
  return rows;
}

/** What stands in the quotes that begin at `start`, and where they end; without an end, all that is left. */
function quotedField(text: string, start: number): [value: string, after: number] {
  const parts: string[] = [];
  for (let at = start + 1;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return [parts.join("") + text.slice(at), text.length];
    parts.push(text.slice(at, quote));
    if (text[quote + 1] !== '"') return [parts.join(""), quote + 1];
    parts.push('"');
    at = quote + 2;
  }
}

function columnOf(header: readonly string[], names: readonly string[], path: string): number {
  const at = header.findIndex((name) => names.includes(name));
  if (at >= 0) return at;
  const near = header.map((name) => nearestName(name, names)).find((name) => name !== undefined);
  throw new UsageError(
    `Cannot read labels of ${path}: it has no column ${names.join(" or ")}` +
      (near === undefined ? "" : ` (did you mean "${near}"?)`) +
      `; found: ${quotedText(header.join(", "), 200)}`,
  );
}

function valueOf(text: string, [worst, best]: readonly [number, number]): number | null {
  const word = WORDS[text.toLowerCase()];
  if (word !== undefined) return word;
  const number = text === "" ? NaN : Number(text);
  const share = (number - worst) / (best - worst);
  return share >= 0 && share <= 1 ? share : null;
}

/**
 * Labels of a CSV file with a column `sample_id` (or `sample_hash`) and a column `label`: a number of the
 * scale, or yes and no. Several rows of a sample are several labellers'.
 *
 * @throws UsageError what it is not, with its line
 */
export function readGold(path: string, scale: readonly [number, number]): Gold {
  if (!existsSync(path)) throw new UsageError(`Cannot read labels: there is no file ${path}`);
  let text: string;
  try {
    text = readText(path, LONGEST);
  } catch (error) {
    throw new UsageError(`Cannot read labels of ${path}: ${(error as Error).message}`);
  }
  const [header = [], ...rows] = csvRows(text);
  const names = header.map((name) => name.trim().toLowerCase());
  const id = columnOf(names, ["sample_id", "sample_hash"], path);
  const label = columnOf(names, ["label"], path);
  const labels = new Map<string, number[]>();
  for (const [place, row] of rows.entries()) {
    const given = (row[label] ?? "").trim();
    const value = valueOf(given, scale);
    if (value === null) {
      throw new UsageError(
        `Cannot read line ${place + 2} of ${path}: its label must be from ${scale[0]} to ` +
          `${scale[1]}, or yes or no, not "${
            quotedText(given)
          }" (--scale WORST,BEST names another scale)`,
      );
    }
    const key = (row[id] ?? "").trim();
    labels.set(key, [...labels.get(key) ?? [], value]);
  }
  if (labels.size === 0) throw new UsageError(`Cannot read labels of ${path}: it has no row`);
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { sha256, by: names[id] as Gold["by"], labels }; // one of the two that were looked for
}
