import { quotedText } from "../../../core/errors.ts";

/** Bytes of one row. */
const LONGEST_LINE = 10_000_000;
/** Bytes of a file of rows, unpacked: a string holds not many more. */
export const LARGEST_FILE = 500_000_000;
const DEEPEST = 64;

/** Why a text is no JSON that can be used; the whole of a sentence's reason. */
export class NoJson extends Error {
  override readonly name = "NoJson";
}

/**
 * The value of a row, as `evaluation/tasks/json_rows.py` reads it: what one side refuses, the other does.
 * Throws `NoJson`.
 */
export function parseRow(line: string): unknown {
  if (line.length * 3 > LONGEST_LINE && new TextEncoder().encode(line).length > LONGEST_LINE) {
    throw new NoJson(`it is longer than ${LONGEST_LINE / 1e6} MB: cut it into several rows`);
  }
  return parseJson(line);
}

/** The value of a text. Throws `NoJson`. */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new NoJson(`it is no JSON: ${quotedText((error as Error).message, 200)}`);
  }
  check(value, text);
  return value;
}

/** Refuses what lies too deep, halves of characters, and numbers that are read as an infinity. */
function check(value: unknown, text: string): void {
  const waiting: [value: unknown, depth: number][] = [[value, 1]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [one, depth] = next;
    if (typeof one === "string") requireWhole(one);
    else if (typeof one === "number" && !Number.isFinite(one)) {
      throw new NoJson(`it holds ${overflowing(text)}, which is too large for a number`);
    } else if (typeof one === "object" && one !== null) {
      if (depth > DEEPEST) throw new NoJson(`it is nested more than ${DEEPEST} deep`);
      for (const [name, item] of Object.entries(one)) {
        if (!Array.isArray(one)) requireWhole(name);
        waiting.push([item, depth + 1]);
      }
    }
  }
}

function requireWhole(text: string): void {
  if (text.isWellFormed()) return;
  const half = [...text].find((letter) => !letter.isWellFormed())!; // one is not, by the check above
  const code = `\\u${half.charCodeAt(0).toString(16).padStart(4, "0")}`;
  throw new NoJson(`it holds half a character (${code} without its other half)`);
}

/** The number as it stands in the text: its value says nothing more. */
function overflowing(text: string): string {
  const numbers = text.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [];
  const found = numbers.find((number) => !Number.isFinite(Number(number))) ?? "a number";
  return found.length <= 40 ? found : `${found.slice(0, 40)}…`;
}
