import {
  countTaken,
  type DrawnSequence,
  logCapitals,
  meanTaken,
  shareTaken,
  type Side,
} from "./capital.ts";
import { SLACK } from "../slack.ts";

/** Of each verdict's error: "met" and "violated" cannot both be wrong, so neither is halved. */
export const LEVEL = 0.05;

const BISECTIONS = 50;

/** Whether a mean difference stays within its limit, as far as a sequence of batches says. */
export interface SequentialVerdict {
  readonly verdict: "met" | "violated" | "undecided";
  /** Samples at the look that decided; all that were taken where none did. */
  readonly n: number;
  /** All of the population was taken: the verdict is its own mean's, without an error. */
  readonly exact: boolean;
  /** Valid at any look: of "within" being wrong, and of "beyond" being wrong. */
  readonly p_within: number;
  readonly p_beyond: number;
}

function pValue(capitals: readonly number[]): number {
  return Math.min(1, Math.exp(-Math.max(...capitals, 0)));
}

/**
 * The verdict on "the mean is at most `limit`": the first that a look reached stands, whatever comes
 * after it. Where the whole population is taken, its mean decides.
 */
export function judgeSequence(
  sequence: DrawnSequence,
  limit: number,
  level = LEVEL,
): SequentialVerdict {
  const threshold = Math.log(1 / level);
  const beyond = logCapitals(sequence, limit, 1);
  const within = logCapitals(sequence, limit, -1);
  const values = { p_within: pValue(within), p_beyond: pValue(beyond) };
  const look = beyond.findIndex((capital, i) => Math.max(capital, within[i]!) >= threshold);
  if (look < 0) return { ...openVerdict(sequence, limit), ...values };
  const verdict = beyond[look]! >= threshold ? "violated" : "met";
  return { verdict, n: countTaken(sequence, look), exact: false, ...values };
}

/** Where no look decided: the mean of the whole population, if all of it is taken. */
export function openVerdict(
  sequence: DrawnSequence,
  limit: number,
): Pick<SequentialVerdict, "verdict" | "n" | "exact"> {
  const n = countTaken(sequence);
  if (shareTaken(sequence) < 1) return { verdict: "undecided", n, exact: false };
  const verdict = meanTaken(sequence) <= limit + SLACK ? "met" : "violated";
  return { verdict, n, exact: true };
}

/**
 * The same about samples that are all taken already: where they are all that exist, their own mean
 * stands above what a look on the way said (wrongly in at most one study of 20).
 */
export function judgeTaken(
  sequence: DrawnSequence,
  limit: number,
  level = LEVEL,
): SequentialVerdict {
  const looked = judgeSequence(sequence, limit, level);
  const whole = openVerdict(sequence, limit);
  return whole.exact && whole.verdict !== looked.verdict ? { ...looked, ...whole } : looked;
}

/**
 * The interval that holds the population's mean at all looks together with a probability of at least
 * 1 - level: what every look left in. Null where nothing was taken. `looks`: "last" leaves the
 * earlier looks out, for comparison.
 */
export function sequenceInterval(
  sequence: DrawnSequence,
  level = LEVEL,
  looks: "all" | "last" = "all",
): [number, number] | null {
  if (countTaken(sequence) === 0) return null;
  const centre = meanTaken(sequence);
  const taken = shareTaken(sequence);
  if (taken === 1) return [centre, centre];
  const threshold = Math.log(2 / level);
  const [least, most] = [taken * centre - (1 - taken), taken * centre + (1 - taken)];
  const bound = (side: Side, end: number, other: number) => {
    const refuted = (m: number) => {
      const path = logCapitals(sequence, m, side);
      return (looks === "last" ? path.at(-1)! : Math.max(...path)) >= threshold;
    };
    if (!refuted(end)) return end;
    let [out, inside] = [end, refuted(centre) ? other : centre];
    for (let i = 0; i < BISECTIONS; i++) {
      const middle = (out + inside) / 2;
      if (refuted(middle)) out = middle;
      else inside = middle;
    }
    return (out + inside) / 2;
  };
  const [low, high] = [bound(1, least, most), bound(-1, most, least)];
  // Looks that exclude each other (at most one study in 1/level) leave the two ends as they came.
  return low <= high ? [low, high] : [high, low];
}
