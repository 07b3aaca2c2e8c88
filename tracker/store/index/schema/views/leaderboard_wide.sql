-- Places are of one rung, the last: a reward of a lower one rests on other samples.
CREATE VIEW leaderboard_wide AS
SELECT CASE WHEN t.fidelity = 'full' THEN row_number() OVER (
    PARTITION BY t.study_id
    ORDER BY t.fidelity IS NOT DISTINCT FROM 'full' DESC, len(t.violated) = 0 DESC,
      reward DESC NULLS LAST, number) END AS rank,
  t.* EXCLUDE (failure_kind, failure_message),
  t.trial_id IS NOT DISTINCT FROM s.recommended AS recommended
FROM trial_summary t
JOIN studies s USING (study_id)
WHERE t.state = 'completed' AND t.number > 0;

COMMENT ON VIEW leaderboard_wide IS
  'The leaderboard with every column: figures, errors, energy, times, where each trial came from.';
