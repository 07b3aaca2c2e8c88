/** How many tests passed and failed. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** Colours and cursor movements that a terminal would swallow. */
// deno-lint-ignore no-control-regex
const ESCAPES = /\x1b\[[0-9;]*[A-Za-z]/g;

/** The last summary of `deno test`, or null where it printed none. */
export function denoCounts(output: string): Counts | null {
  const clean = output.replaceAll(ESCAPES, "");
  const summary = [...clean.matchAll(/^(?:ok|FAILED) \| (.*)$/gm)].at(-1)?.[1];
  if (summary === undefined) return null;
  const read = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);
  return { passed: read("passed"), failed: read("failed") };
}

/** The sum over several runs. */
export function addCounts(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((sum, { passed }) => sum + passed, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
  };
}
