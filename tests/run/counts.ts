/** How many tests passed, failed and were left out. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Colours and cursor movements that a terminal would swallow. */
// deno-lint-ignore no-control-regex
const ESCAPES = /\x1b\[[0-9;]*[A-Za-z]/g;

/** The summary of `deno test`, or null where it printed none. */
export function denoCounts(output: string): Counts | null {
  const clean = output.replaceAll(ESCAPES, "");
  const lines = [...clean.matchAll(/^(?:ok|FAILED) \| (.*)$/gm)];
  const summary = lines.at(-1)?.[1];
  if (summary === undefined) return null;
  const read = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);
  return { passed: read("passed"), failed: read("failed"), skipped: read("ignored") };
}

/** The closing line of pytest, or null where it printed none. */
export function pytestCounts(output: string): Counts | null {
  const clean = output.replaceAll(ESCAPES, "");
  const summary = [...clean.matchAll(/^=*\s*((?:\d+ \w+,? ?)+) in [\d.:]+.*$/gm)].at(-1)?.[1];
  if (summary === undefined) return null;
  const read = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);
  return {
    passed: read("passed"),
    failed: read("failed") + read("errors?"),
    skipped: read("skipped"),
  };
}

/** The sum over several runs. */
export function addCounts(all: readonly Counts[]): Counts {
  return all.reduce((sum, one) => ({
    passed: sum.passed + one.passed,
    failed: sum.failed + one.failed,
    skipped: sum.skipped + one.skipped,
  }), { passed: 0, failed: 0, skipped: 0 });
}
