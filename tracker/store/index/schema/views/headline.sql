-- Which of several figures of a trial and metric counts: full before other rungs, measured before
-- estimated, over all tasks before one task, the later one; speed, memory and energy in the study's
-- own runtime only. Latency is what a comparison has it as: the ratio to the baseline of the same
-- minutes times one baseline of the study, its repeats and its error with it.
CREATE VIEW headline AS
SELECT m.* REPLACE (
  m.value * compared AS value,
  CASE WHEN scaled THEN c.latency_ms_standard_error ELSE m.standard_error END AS standard_error,
  m.minimum * compared AS minimum, m.lower_quartile * compared AS lower_quartile,
  m.upper_quartile * compared AS upper_quartile, m.maximum * compared AS maximum
)
FROM measurements m JOIN studies s USING (study_id)
LEFT JOIN compared_trials c ON c.study_id = m.study_id AND c.trial_id = m.trial_id
CROSS JOIN LATERAL (SELECT m.metric = 'latency_ms' AND m.provenance = 'measured'
  AND c.latency_ms IS NOT NULL AND m.value > 0 AS scaled) x
CROSS JOIN LATERAL (SELECT CASE WHEN scaled THEN c.latency_ms / m.value ELSE 1 END AS compared) y
WHERE m.slice IS NULL
  AND (m.runtime IS NULL OR m.metric IN ('accuracy', 'perplexity') OR m.runtime = s.runtime)
QUALIFY row_number() OVER (
  PARTITION BY m.study_id, m.trial_id, m.metric
  ORDER BY m.fidelity = 'full' DESC, m.provenance = 'measured' DESC, m.task IS NULL DESC,
    m.rowid DESC
) = 1;

COMMENT ON VIEW headline IS
  'One figure per trial and metric: the one that a comparison uses.';
