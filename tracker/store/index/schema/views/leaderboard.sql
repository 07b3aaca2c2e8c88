-- A first look: it fits a terminal. Every other column is in leaderboard_wide.
CREATE VIEW leaderboard AS
SELECT rank, trial_id, recommended, methods, accuracy, perplexity, latency_ratio, size_bytes,
  on_front, violated, fidelity, study_id
FROM leaderboard_wide;

COMMENT ON VIEW leaderboard IS
  'Completed trials of each study, best reward first, those that violate a constraint last; those of lower rungs have no rank. Figures are of the rung in fidelity; leaderboard_wide has more columns.';
COMMENT ON COLUMN leaderboard.rank IS 'place among the study''s trials evaluated in full, from 1; NULL: it was evaluated on a lower rung only';
COMMENT ON COLUMN leaderboard.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN leaderboard.recommended IS
  'whether the study recommends it; false for all where it keeps the original or goes on';
COMMENT ON COLUMN leaderboard.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN leaderboard.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN leaderboard.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN leaderboard.latency_ratio IS
  'time of a token over that of the baseline in the same minutes; NULL: only emulated, or not measured';
COMMENT ON COLUMN leaderboard.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN leaderboard.on_front IS
  'no other full trial is as good on every objective and better on one';
COMMENT ON COLUMN leaderboard.violated IS 'constraints that are violated';
COMMENT ON COLUMN leaderboard.fidelity IS
  'rung of the evaluation: proxy, full or the name of one between, which quality was measured on';
COMMENT ON COLUMN leaderboard.study_id IS 'the study it belongs to';
