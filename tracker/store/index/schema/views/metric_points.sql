CREATE VIEW metric_points AS
SELECT s.study_id, s.trial_id, s.action_index, s.metric, v.step, v.value, v.happened_at, v.position
FROM metric_values v JOIN metric_series s USING (series_id);

COMMENT ON VIEW metric_points IS 'One row a logged point; the same step may have several.';
