CREATE VIEW metric_points AS
SELECT s.study_id, s.trial_id, s.stage, s.metric, v.step, v.value, v.happened_at, v.position
FROM metric_values v JOIN metric_series s USING (series_id);

COMMENT ON VIEW metric_points IS 'One row a logged point; the same step may have several.';
COMMENT ON COLUMN metric_points.value IS 'as it was logged; NaN and infinities too';
COMMENT ON COLUMN metric_points.happened_at IS 'by the clock of the writer, which may be set back';
COMMENT ON COLUMN metric_points.position IS 'place of its record in the journal: orders repeated steps';
COMMENT ON COLUMN metric_points.study_id IS 'the study it belongs to';
COMMENT ON COLUMN metric_points.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN metric_points.metric IS 'such as loss, learning_rate or held_out_loss of a training';
COMMENT ON COLUMN metric_points.step IS 'as it was logged; of a training, steps taken, from 1';
COMMENT ON COLUMN metric_points.stage IS 'number of the action that logged it, from 0; NULL: logged by hand';
