CREATE VIEW newest_scorings AS
SELECT * FROM scorings
QUALIFY position = max(position) OVER (
  PARTITION BY study_id, trial_id, fidelity, task, scorer);

COMMENT ON VIEW newest_scorings IS
  'Of the figures of scorers the newest of each trial, rung, task and scorer; scorings has the earlier ones too.';
