/**
 * Parts of the gate that failed beside others, once more with the machine to themselves. A part that
 * passes then is no less a finding: the run names it as unsteady, so that somebody looks at it; it
 * refuses nobody's work for a race that their change did not make.
 */
import { ESCAPES } from "./counts.ts";
import { failureLines } from "./failures.ts";
import type { Ended, Job } from "./lanes.ts";

/** More than so many parts do not fail by chance. */
const MOST_PARTS = 3;
/** A longer part would make the run wait too long. */
const LONGEST_SECONDS = 600;
/** A part that does the same to the same files each time. */
const STEADY = /^(?:types|format|lint|Python's lint and types)$/;

export interface Again {
  /** Of every part the run that counts. */
  readonly ended: readonly Ended[];
  /** What failed beside others and passed alone, a line each. */
  readonly unsteady: readonly string[];
}

/** Runs what failed again, one part after the other, where as much time is left as it took before; what
 * fails twice has failed. */
export async function onceMoreAlone(
  jobs: readonly Job[],
  ended: readonly Ended[],
  onEnded: (ended: Ended) => void,
  seconds_left = Infinity,
): Promise<Again> {
  const failed = ended.filter(({ counts }) => counts.failed > 0);
  const chance = failed.length <= MOST_PARTS &&
    failed.reduce((sum, { seconds }) => sum + seconds, 0) <= seconds_left &&
    failed.every(({ name, seconds }) => seconds <= LONGEST_SECONDS && !STEADY.test(name));
  if (!chance) return { ended, unsteady: [] };
  const found = [...ended];
  const unsteady: string[] = [];
  for (const one of failed) {
    const job = jobs.find(({ name }) => name === one.name)!;
    const started = performance.now();
    const { counts, output } = await job.run();
    const again = { name: one.name, counts, output, seconds: (performance.now() - started) / 1000 };
    onEnded(again);
    found[found.indexOf(one)] = again;
    if (counts.failed === 0) unsteady.push(...unsteadyLines(one));
  }
  return { ended: found, unsteady };
}

/** Each of the part's tests that failed beside others. */
function unsteadyLines(one: Ended): string[] {
  return failureLines([{ ...one, output: one.output.replaceAll(ESCAPES, "") }])
    .map((line) =>
      `unsteady (passed when run alone, look at it): ${line.slice("failed: ".length)}`
    );
}
