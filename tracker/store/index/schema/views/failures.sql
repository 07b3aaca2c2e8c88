-- One row per trial that ended without completing: what failed, or the gate that ended it.
CREATE VIEW failures AS
WITH ended AS (
  SELECT study_id, trial_id, arg_max(gate_index, gate_index) AS gate_index
  FROM gate_decisions WHERE decision = 'abort' GROUP BY study_id, trial_id
),
gates AS (
  SELECT g.*,
    TRY_CAST(regexp_extract(g.reason, 'interval (-?[0-9.eE+-]+) to ', 1) AS DOUBLE) AS low,
    TRY_CAST(regexp_extract(g.reason, 'interval -?[0-9.eE+-]+ to (-?[0-9.eE+-]+)', 1) AS DOUBLE)
      AS high
  FROM gate_decisions g JOIN ended e USING (study_id, trial_id, gate_index)
)
SELECT t.study_id, t.trial_id, t.readable_id,
  t.methods,
  t.state, t.failure_kind AS kind, t.failure_message AS message, t.failure_hint AS hint,
  coalesce(t.failure_phase, 'gate ' || g.gate) AS phase, t.finished_at,
  coalesce(t.failure_message, g.reason, 'nothing was recorded') AS reason,
  g.gate, g.value, g.threshold, g.low AS interval_low, g.high AS interval_high, g.samples,
  g.dominated_by,
  coalesce(t.failure_hint, CASE
    WHEN t.state = 'cancelled' THEN 'resume the study to run it again'
    WHEN g.dominated_by IS NOT NULL THEN 'nothing: ' || g.dominated_by || ' is most likely better'
    WHEN g.gate IS NOT NULL THEN 'compress less, or allow more where the threshold is a limit of yours'
    ELSE 'read its log: pare log ' || t.trial_id END) AS what_to_do
FROM trials t
LEFT JOIN gates g ON g.study_id = t.study_id AND g.trial_id = t.trial_id
WHERE t.state NOT IN ('completed', 'running') OR t.failure_kind IS NOT NULL;

COMMENT ON VIEW failures IS
  'Why trials ended, one row per trial that did not complete: its failure under its own name, or the gate that stopped it with its evidence.';
