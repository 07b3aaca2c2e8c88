import { z } from "zod";

/**
 * How much of the evaluation a figure rests on: the name of a rung. This file alone says which names
 * stand for something; between the two lie names of the user's own, such as `half`.
 */

/** The first of several rungs: the fast evaluation of the fewest samples. */
export const PROXY = "proxy";

/** The last rung, of all samples: it alone decides front, recommendation and what is claimed. */
export const FULL = "full";

/**
 * A rung below the first of answers: windows of text alone, on which only the distance to the original
 * is measured. There is one where a user counts its windows.
 */
export const TEXT_RUNG = "kl";

/**
 * A rung below the first of answers: of benchmarks that generate, how likely the original's own answers
 * are, one forward pass a sample. There is one where a user counts its samples.
 */
export const LIKELIHOOD_RUNG = "likelihood";

/** A rung's name: part of file names, of SQL and of metric names. */
export const Fidelity = z.string().regex(
  /^[a-z][a-z0-9_]{0,31}$/,
  "must be at most 32 small letters, digits and _, such as half",
);
export type Fidelity = z.infer<typeof Fidelity>;

/** Whether a trial that was evaluated so far counts for the front; null: it was not evaluated. */
export function isDecisive(fidelity: Fidelity | null): boolean {
  return fidelity === FULL;
}

/** What else a trial's time, files and figures are named by. */
const TAKEN: readonly string[] = [
  PROXY,
  FULL,
  "apply",
  "baseline",
  "evaluate",
  "loop",
  "setup",
  "speed",
  "verify",
];

/** A name that a user may give to a rung between the first and the last. */
export const BetweenName = Fidelity.refine(
  (name) => !TAKEN.includes(name),
  `must be another name than ${TAKEN.join(", ")}`,
);
