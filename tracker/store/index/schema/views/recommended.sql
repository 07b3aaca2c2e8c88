CREATE VIEW recommended AS
WITH recipes AS (
  -- As the strategy has it: the knobs that it named.
  SELECT study_id, trial_id, string_agg(action, ' + ' ORDER BY action_index) AS recipe
  FROM (
    SELECT a.study_id, a.trial_id, a.action_index, a.method || coalesce('('
      || string_agg(k.knob || '=' || k.value, ', ' ORDER BY k.knob)
        FILTER (k.requested IS NOT NULL) || ')', '') AS action
    FROM actions a LEFT JOIN knobs k USING (study_id, trial_id, action_index)
    GROUP BY a.study_id, a.trial_id, a.action_index, a.method
  ) GROUP BY study_id, trial_id
),
bases AS (
  SELECT t.study_id, t.trial_id, f.accuracy, f.perplexity, c.reward
  FROM trials t JOIN trial_figures f USING (study_id, trial_id)
  LEFT JOIN compared_trials c ON c.study_id = t.study_id AND c.trial_id = t.trial_id
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
),
metrics AS (
  SELECT s.study_id,
    CASE WHEN bool_or(o.metric = 'perplexity') THEN 'perplexity' ELSE 'accuracy' END AS metric
  FROM studies s LEFT JOIN objectives o USING (study_id) GROUP BY s.study_id
),
picked AS (
  SELECT s.*, m.metric, b.trial_id AS base_id,
    CASE m.metric WHEN 'accuracy' THEN b.accuracy ELSE b.perplexity END AS baseline_quality,
    b.reward AS base_reward,
    CASE WHEN s.recommended IS NULL THEN 'not decided'
      WHEN s.recommended = b.trial_id THEN 'keep the original'
      ELSE 'recommended' END AS decision
  FROM studies s JOIN metrics m USING (study_id) LEFT JOIN bases b USING (study_id)
)
SELECT p.study_id, p.recommended AS trial_id, p.decision, t.methods, r.recipe,
  t.size_bytes, p.original_bytes, t.size_bytes / p.original_bytes AS size_ratio, p.fp16_bytes,
  t.compression_ratio, t.latency_ms, t.latency_ratio, t.latency_ratio_low, t.latency_ratio_high,
  p.metric, CASE p.metric WHEN 'accuracy' THEN t.accuracy ELSE t.perplexity END AS quality,
  p.baseline_quality, d.difference, d.difference_low, d.difference_high, d.n, d.exact,
  t.undecided,
  CASE p.decision
    WHEN 'recommended' THEN format('it is on the front, violates no constraint{}, and has the best '
      || 'reward of those: {:.3f} against {:.3f} of the original',
      CASE WHEN len(t.undecided) = 0 THEN ''
        ELSE ' (undecided: ' || array_to_string(t.undecided, ', ') || ')' END,
      t.reward, p.base_reward)
    WHEN 'keep the original' THEN 'no compressed model that keeps to the constraints has a better '
      || 'reward than the original'
    ELSE CASE WHEN p.stop IS NULL THEN 'the study has not ended' ELSE 'the study recommends none: '
      || coalesce(p.message, p.stop) END
  END AS because,
  t.artifact_id
FROM picked p
LEFT JOIN trial_summary t ON t.study_id = p.study_id AND t.trial_id = p.recommended
LEFT JOIN recipes r ON r.study_id = p.study_id AND r.trial_id = p.recommended
LEFT JOIN paired_differences d ON d.study_id = p.study_id AND d.trial_id = p.recommended
  AND d.task IS NULL AND d.metric = p.metric;

COMMENT ON VIEW recommended IS
  'What each study recommends and why, one row per study: the trial with its figures beside the original''s.';
