/** What a compressed model keeps of the baseline's score. */
export interface Retention {
  /** score / baseline; null where the baseline is 0. Gates use this one unless told. */
  readonly plain: number | null;
  /**
   * (score − chance) / (baseline − chance): 0 is guessing, 1 all that was known. Null where the
   * baseline is no better than guessing, as nothing was known that could be kept.
   */
  readonly above_chance: number | null;
}

/** Retention of a score that is better when larger; `chance` is the score of guessing. */
export function retention(score: number, baseline: number, chance: number): Retention {
  return {
    plain: baseline === 0 ? null : score / baseline,
    above_chance: baseline <= chance ? null : (score - chance) / (baseline - chance),
  };
}
