-- core/evidence/rank_agreement.ts has the same formula; a test holds one to the other.
CREATE VIEW scorer_agreement AS
WITH pairs AS (
  SELECT a.study_id, a.artifact_id, a.format, a.scorer, b.scorer AS other_scorer, a.value,
    b.value AS other_value
  FROM layer_scores a
  JOIN layer_scores b USING (study_id, artifact_id, format, layer_index)
  WHERE a.scorer < b.scorer AND NOT isnan(a.value) AND NOT isnan(b.value)
),
-- Equals share the mean of their ranks.
ranked AS (
  SELECT *,
    rank() OVER (PARTITION BY study_id, artifact_id, format, scorer, other_scorer ORDER BY value)
      + (count(*) OVER (PARTITION BY study_id, artifact_id, format, scorer, other_scorer, value)
        - 1) / 2 AS own_rank,
    rank() OVER (
      PARTITION BY study_id, artifact_id, format, scorer, other_scorer ORDER BY other_value)
      + (count(*) OVER (
        PARTITION BY study_id, artifact_id, format, scorer, other_scorer, other_value) - 1) / 2
      AS other_rank
  FROM pairs
)
SELECT study_id, artifact_id, format, scorer, other_scorer, count(*) AS n,
  if(count(*) >= 4 AND min(value) < max(value) AND min(other_value) < max(other_value),
    corr(own_rank, other_rank), NULL) AS rank_correlation
FROM ranked GROUP BY ALL;

COMMENT ON VIEW scorer_agreement IS
  'Whether two scorers put the layers into the same order: a row per format and pair of scorers.';
