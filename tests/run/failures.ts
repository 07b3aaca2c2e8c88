/** What failed in a run, once more at its end: it stands far above where a run is long. */
import { ESCAPES } from "./counts.ts";
import type { Ended } from "./lanes.ts";

/** How deno names a test that failed, with its place, and how pytest does. */
const NAMED = /^(.+ => \.\/\S+:\d+:\d+|(?:FAILED|ERROR) \S+::.+)$/;

/** A line a test that failed; the part's name where it broke before it named one. */
export function failureLines(ended: readonly Ended[]): string[] {
  return ended.filter(({ counts }) => counts.failed > 0).flatMap(({ name, output }) => {
    const lines = output.replaceAll(ESCAPES, "").split("\n").map((line) => line.trim());
    const named = [...new Set(lines.filter((line) => NAMED.test(line)))];
    return (named.length > 0 ? named : [name]).map((line) => `failed: ${line}`);
  });
}

/** The last test that began before a run was ended, as pytest names one; null: none did. */
export function lastBegun(output: string): string | null {
  const lines = output.replaceAll(ESCAPES, "").split("\n");
  const last = (form: RegExp) =>
    lines.map((line) => form.exec(line)?.[1]).findLast((one) => one !== undefined);
  const test = last(/^(\S.*?) \.\.\./);
  return test === undefined ? null : `${last(/^running \d+ tests? from \.\/(\S+)/)}::${test}`;
}
