-- A first look: it fits a terminal. Every other column is in leaderboard_wide.
CREATE VIEW leaderboard AS
SELECT rank, trial_id, recommended, methods, accuracy, perplexity, latency_ratio, size_bytes,
  on_front, violated, fidelity, study_id
FROM leaderboard_wide;

COMMENT ON VIEW leaderboard IS
  'Completed trials of each study, best reward first, those that violate a constraint last; those of lower rungs have no rank. Figures are of the rung in fidelity; leaderboard_wide has more columns.';
