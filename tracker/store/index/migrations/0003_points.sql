-- Points that trials logged: metrics over steps. Their names stand once a series, as a row with
-- three texts takes four times as long to write; read them through the view metric_points.

CREATE TABLE metric_series (
  series_id BIGINT NOT NULL,          -- made from the place of its first record in the journal
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, metric VARCHAR NOT NULL
);

CREATE TABLE metric_values (
  series_id BIGINT NOT NULL, position BIGINT NOT NULL, step BIGINT NOT NULL,
  happened_at TIMESTAMP NOT NULL, value DOUBLE NOT NULL
);

CREATE VIEW metric_points AS
SELECT s.study_id, s.trial_id, s.metric, v.step, v.value, v.happened_at, v.position
FROM metric_values v JOIN metric_series s USING (series_id);
COMMENT ON VIEW metric_points IS 'One row a logged point; the same step may have several.';
COMMENT ON COLUMN metric_points.value IS 'as it was logged; NaN and infinities too';
COMMENT ON COLUMN metric_points.happened_at IS 'by the clock of the writer, which may be set back';
COMMENT ON COLUMN metric_points.position IS 'place of its record in the journal: orders repeated steps';
