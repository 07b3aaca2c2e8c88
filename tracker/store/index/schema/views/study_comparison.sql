-- Figures of two studies may be compared where model, data and protocol are the same; latency is the
-- ratio to the study's own baseline, so that it may be where the machines differ little.
CREATE VIEW study_comparison AS
WITH keys AS (
  SELECT p.study_id, string_agg(p.task || ' ' || p.protocol, ' ' ORDER BY p.task) AS protocol
  FROM protocols p JOIN trials t USING (study_id, trial_id)
  WHERE t.strategy_id IS NULL AND t.state = 'completed' AND p.fidelity = 'full'
  GROUP BY p.study_id
),
own AS (
  SELECT s.study_id, s.opened_at, s.model_source, s.model_revision, s.architecture, s.parameters,
    s.original_bytes, coalesce(s.dataset_sha256, s.dataset) AS data, s.dataset_kind, k.protocol,
    w.trials, r.trial_id AS recommended, r.decision, w.best_reward, r.metric, r.quality,
    r.difference AS quality_difference, r.size_bytes, r.latency_ratio, e.hypervolume, m.minutes
  FROM studies s
  LEFT JOIN recommended r ON r.study_id = s.study_id
  LEFT JOIN keys k ON k.study_id = s.study_id
  LEFT JOIN (
    SELECT study_id, count(*) AS trials, max(reward) FILTER (
      number > 0 AND state = 'completed' AND fidelity = 'full' AND len(violated) = 0
    ) AS best_reward
    FROM trial_summary GROUP BY study_id
  ) w ON w.study_id = s.study_id
  LEFT JOIN (
    SELECT study_id, arg_max(hypervolume, number) AS hypervolume FROM episodes GROUP BY study_id
  ) e ON e.study_id = s.study_id
  LEFT JOIN (
    SELECT study_id, sum(seconds) / 60 AS minutes FROM spans WHERE name <> 'loop' GROUP BY study_id
  ) m ON m.study_id = s.study_id
)
SELECT a.study_id AS first_study_id, b.study_id AS second_study_id,
  a.model_source = b.model_source AND a.model_revision IS NOT DISTINCT FROM b.model_revision
    AND a.architecture = b.architecture AND a.parameters = b.parameters
    AND a.original_bytes = b.original_bytes AS same_model,
  a.data = b.data AND a.dataset_kind = b.dataset_kind AS same_dataset,
  a.protocol = b.protocol AS same_protocol,
  a.trials AS first_trials, b.trials AS second_trials,
  a.recommended AS first_recommended, b.recommended AS second_recommended,
  a.decision AS first_decision, b.decision AS second_decision,
  a.best_reward AS first_best_reward, b.best_reward AS second_best_reward,
  a.metric AS first_metric, b.metric AS second_metric,
  a.quality AS first_quality, b.quality AS second_quality,
  a.quality_difference AS first_quality_difference, b.quality_difference AS second_quality_difference,
  a.size_bytes AS first_size_bytes, b.size_bytes AS second_size_bytes,
  a.latency_ratio AS first_latency_ratio, b.latency_ratio AS second_latency_ratio,
  a.hypervolume AS first_hypervolume, b.hypervolume AS second_hypervolume,
  a.minutes AS first_minutes, b.minutes AS second_minutes
FROM own a JOIN own b ON (a.opened_at, a.study_id) < (b.opened_at, b.study_id);

COMMENT ON VIEW study_comparison IS
  'Two studies beside each other, one row per pair, the earlier one first: whether model, data and protocol are the same, what each recommends and what it cost.';
