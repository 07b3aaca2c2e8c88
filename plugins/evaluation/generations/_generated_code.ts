/** How Chen et al. 2021 draw programs for pass@1; top_k 0: from the whole vocabulary. */
export const DRAWN = {
  repeats: 10,
  decoding: { do_sample: true, temperature: 0.2, top_p: 0.95, top_k: 0, max_gen_toks: 512 },
} as const;

/** What is measured of drawn programs. */
export const PASS_AT_1 = {
  metric: "pass@1,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 100,
  full_samples: null,
  window_tokens: null,
  runs_code: true,
} as const;
