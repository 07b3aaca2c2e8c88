/** Which files run in one process. */
import { waits } from "./waits.ts";

/** A file with the seconds of its tests, and what it needs before it may begin. */
export interface TestFile {
  readonly path: string;
  readonly seconds: number;
  readonly needs: readonly string[];
}

/** Starting a process takes a second or two, which many files share; a long one is alone. */
const GROUP_SECONDS = 40;
const GROUP_FILES = 24;

/** Neighbours in one process each: as many as stay short together and need the same. */
export function groupFiles(files: readonly TestFile[]): TestFile[][] {
  const sorted = [...files].sort((a, b) => a.path < b.path ? -1 : 1);
  const groups: TestFile[][] = [];
  const open = new Map<string, TestFile[]>();
  for (const file of sorted) {
    const key = JSON.stringify([file.needs, waits(file.path)]);
    const group = open.get(key);
    const fits = group !== undefined && group.length < GROUP_FILES &&
      secondsOf(group) + file.seconds <= GROUP_SECONDS;
    if (fits) group.push(file);
    else groups.push([file]);
    if (!fits && file.seconds < GROUP_SECONDS) open.set(key, groups.at(-1)!);
  }
  return groups;
}

/** Two or more parts of about equal seconds. */
export function evenParts(files: readonly TestFile[], parts: number): TestFile[][] {
  const made = Array.from({ length: parts }, (): TestFile[] => []);
  for (const file of [...files].sort((a, b) => b.seconds - a.seconds)) {
    made.reduce((a, b) => secondsOf(b) < secondsOf(a) ? b : a).push(file);
  }
  return made.filter((part) => part.length > 0)
    .map((part) => part.sort((a, b) => a.path < b.path ? -1 : 1));
}

export function secondsOf(files: readonly TestFile[]): number {
  return files.reduce((sum, { seconds }) => sum + seconds, 0);
}
