import type { SampleResult } from "../schemas/measurement.ts";

/** One sample as the original and as a trial answered it. */
export interface AnsweredTwice {
  readonly original: SampleResult;
  readonly trial: SampleResult;
}

/**
 * Nats that a single sample's KL counts at most: so that one option whose log-likelihood fell without
 * bound does not decide a mean, and the mean of a batch is bounded.
 */
export const MOST_KL = 5;

/** Samples of one task that both answered, by the hash of their content, in the original's order. */
export function answeredTwice(
  original: readonly SampleResult[],
  trial: readonly SampleResult[],
): AnsweredTwice[] {
  const known = new Map(trial.map((sample) => [sample.sample_hash, sample]));
  return original.flatMap((sample) => {
    const other = known.get(sample.sample_hash);
    return other === undefined ? [] : [{ original: sample, trial: other }];
  });
}

/** ln of the softmax; −Infinity stays what it is. Null: a value is NaN, or all are −Infinity. */
function logSoftmax(values: readonly number[]): number[] | null {
  const top = Math.max(...values);
  if (!Number.isFinite(top)) return null;
  const total = values.reduce((sum, value) => sum + Math.exp(value - top), 0);
  return values.map((value) => value - top - Math.log(total));
}

/**
 * KL(original ‖ trial) over the options of a multiple choice, nats: exact, as the options are all that
 * there is; p and q are the softmax of the options' log-likelihoods. At most `MOST_KL`. Null where one
 * side has no log-likelihood of every option, or a number that is none.
 */
export function choiceKl({ original, trial }: AnsweredTwice): number | null {
  const [own, other] = [original.choice_log_likelihoods ?? [], trial.choice_log_likelihoods ?? []];
  if (own.length < 2 || own.length !== other.length) return null;
  const [p, q] = [logSoftmax(own), logSoftmax(other)];
  if (p === null || q === null) return null;
  const kl = p.reduce((sum, log, i) => {
    const share = Math.exp(log);
    return share === 0 ? sum : sum + share * (log - q[i]!);
  }, 0);
  return Math.min(MOST_KL, Math.max(0, kl));
}

/** Whether the score turned, from right to wrong or back; null: a score is neither right nor wrong. */
export function flipped({ original, trial }: AnsweredTwice): boolean | null {
  const isPlain = (score: number) => score === 0 || score === 1;
  if (!isPlain(original.score) || !isPlain(trial.score)) return null;
  return original.score !== trial.score;
}

/**
 * Whether the trial answered otherwise, also from one wrong answer to another: by the choice taken,
 * else by what the task's rule read, else by what was written. Null: neither was kept, or, where only
 * the right answer's likelihood was asked for, nobody knows what the wrong one was.
 */
export function changedAnswer({ original, trial }: AnsweredTwice): boolean | null {
  const both = [original, trial];
  if (both.every(({ chosen }) => (chosen ?? null) !== null)) {
    return original.chosen !== trial.chosen;
  }
  const parsed = both.map((sample) => sample.parsed_answer ?? null);
  const written = both.map(({ answer }) => answer);
  if (parsed.some((one) => one !== null)) {
    // Nothing could be read from one of them: that is another answer, if both wrote anything at all.
    if (parsed.every((one) => one !== null) || written.every((one) => one !== null)) {
      return parsed[0] !== parsed[1];
    }
    return flipped({ original, trial });
  }
  return written.every((one) => one !== null) ? written[0] !== written[1] : null;
}
