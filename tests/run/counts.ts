/** Tests that did not run for one reason, which says what makes them run. */
export interface Skipped {
  readonly reason: string;
  readonly count: number;
}

/** How many tests passed and failed, and which were left out. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** Absent: none was. */
  readonly skipped?: readonly Skipped[];
}

/** Colours and cursor movements that a terminal would swallow. */
// deno-lint-ignore no-control-regex
export const ESCAPES = /\x1b\[[0-9;]*[A-Za-z]/g;

/** What a file prints where it ignores a test, by `ignoreUnless`. */
export const SKIPPED = "skipped: ";

/** Leaves a test out where something is missing, and says what makes it run. */
export function ignoreUnless(there: boolean, reason: string): boolean {
  if (!there) console.error(`${SKIPPED}${reason}`);
  return !there;
}

/** The last summary of `deno test`, or null where it printed none. */
export function denoCounts(output: string): Counts | null {
  const clean = output.replaceAll(ESCAPES, "");
  const summary = [...clean.matchAll(/^(?:ok|FAILED) \| (.*)$/gm)].at(-1)?.[1];
  if (summary === undefined) return null;
  const read = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);
  const lines = clean.split("\n").filter((line) => line.startsWith(SKIPPED));
  const skipped = lines.map((line) => ({ reason: line.slice(SKIPPED.length).trim(), count: 1 }));
  return withSkipped({ passed: read("passed"), failed: read("failed") }, skipped, read("ignored"));
}

/** As many tests as were left out: those that nobody gave a reason for stand under their own. */
export function withSkipped(
  counts: Pick<Counts, "passed" | "failed">,
  told: readonly Skipped[],
  count: number,
): Counts {
  if (count === 0) return counts;
  const rest = count - told.reduce((sum, one) => sum + one.count, 0);
  const untold = rest > 0 ? [{ reason: "no reason was given", count: rest }] : [];
  return { ...counts, skipped: [...told, ...untold] };
}

/** The sum over several runs; equal reasons are one. */
export function addCounts(all: readonly Counts[]): Counts {
  const reasons = new Map<string, number>();
  for (const { reason, count } of all.flatMap(({ skipped = [] }) => skipped)) {
    reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  const sum = {
    passed: all.reduce((sum, { passed }) => sum + passed, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
  };
  if (reasons.size === 0) return sum;
  return { ...sum, skipped: [...reasons].map(([reason, count]) => ({ reason, count })) };
}

/** What closes a run: each reason for tests that were left out, then the one line of counts. */
export function closingLines({ passed, failed, skipped = [] }: Counts): string[] {
  const count = skipped.reduce((sum, one) => sum + one.count, 0);
  return [
    ...skipped.map((one) => `skipped ${one.count}: ${one.reason}`),
    `${passed} passed, ${failed} failed${count === 0 ? "" : `, ${count} skipped`}`,
  ];
}
