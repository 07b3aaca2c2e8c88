import { FULL } from "../../../core/mod.ts";

/** Questions that a page offers; $study is the study that it came from. */
export const QUESTIONS: readonly { readonly title: string; readonly sql: string }[] = [
  {
    title: "The best trials of every study",
    sql: `SELECT * FROM leaderboard WHERE fidelity = '${FULL}' ORDER BY study_id, rank LIMIT 100`,
  },
  {
    title: "What each study recommends, and why",
    sql: "SELECT trial_id, size_bytes, difference, difference_low, because FROM recommended",
  },
  {
    title: "The front, and how sure it is",
    sql:
      "SELECT trial_id, front_probability, rank, accuracy, latency_ratio, size_bytes FROM pareto\nWHERE rank = 0 ORDER BY study_id, accuracy DESC",
  },
  {
    title: "Why trials ended early",
    sql: "SELECT trial_id, phase, reason, what_to_do FROM failures LIMIT 200",
  },
  {
    title: "Which knob matters",
    sql: "SELECT * FROM knob_importance LIMIT 100",
  },
  {
    title: "How far each time is from its roofline",
    sql: "SELECT * FROM timings ORDER BY over_roofline LIMIT 100",
  },
  {
    title: "Where the time went",
    sql: "SELECT study_id, phase, sum(seconds) AS seconds FROM phases GROUP BY ALL ORDER BY ALL",
  },
  {
    title: "What it cost in time",
    sql: "SELECT * FROM cost LIMIT 100",
  },
  {
    title: "Two studies beside each other",
    sql: "SELECT * FROM study_comparison LIMIT 50",
  },
];
