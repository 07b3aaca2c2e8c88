/** A hair that figures may differ by: 0.92 − 0.90 is not exactly 0.02, and 0.95 × 0.4 not 0.38. */
export const SLACK = 1e-12;
