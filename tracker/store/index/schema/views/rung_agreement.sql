-- core/evidence/rank_agreement.ts has the same formulas; a test holds one to the other.
CREATE VIEW rung_agreement AS
WITH last_rungs AS (
  SELECT study_id, arg_max(fidelity, height) AS fidelity FROM rungs GROUP BY study_id
),
figures AS (
  SELECT m.study_id, m.trial_id, m.metric, m.fidelity,
    last(if(m.direction = 'maximize', m.value, -m.value) ORDER BY m.position, m.rowid) AS goodness,
    last(m.n ORDER BY m.position, m.rowid) AS n
  FROM measurements m JOIN trials t USING (study_id, trial_id)
  WHERE m.task IS NULL AND m.slice IS NULL AND m.provenance = 'measured' AND NOT isnan(m.value)
    AND m.metric IN ('accuracy', 'perplexity', 'kl', 'choice_kl', 'flips', 'changed_answers',
      'answer_likelihood')
    AND t.strategy_id IS NOT NULL
  GROUP BY m.study_id, m.trial_id, m.metric, m.fidelity
),
-- Only the quality that a study compares by is taken over all tasks: it alone can be found here.
pairs AS (
  SELECT c.study_id, c.trial_id, c.fidelity, c.metric, c.n AS samples, r.metric AS judged_by,
    r.fidelity AS judged_on, c.goodness, r.goodness AS judged
  FROM figures c
  JOIN last_rungs l USING (study_id)
  JOIN figures r ON r.study_id = c.study_id AND r.trial_id = c.trial_id
    AND r.fidelity = l.fidelity AND r.metric IN ('accuracy', 'perplexity')
  WHERE c.metric <> r.metric OR c.fidelity <> r.fidelity
),
-- Equals share the mean of their ranks.
ranked AS (
  SELECT *,
    rank() OVER (PARTITION BY study_id, fidelity, metric ORDER BY goodness)
      + (count(*) OVER (PARTITION BY study_id, fidelity, metric, goodness) - 1) / 2 AS own_rank,
    rank() OVER (PARTITION BY study_id, fidelity, metric ORDER BY judged)
      + (count(*) OVER (PARTITION BY study_id, fidelity, metric, judged) - 1) / 2 AS judged_rank
  FROM pairs
),
spearman AS (
  SELECT study_id, fidelity, metric, judged_by, judged_on, count(*) AS trials,
    median(samples)::BIGINT AS samples,
    if(count(*) >= 4 AND min(goodness) < max(goodness) AND min(judged) < max(judged),
      corr(own_rank, judged_rank), NULL) AS rho
  FROM ranked GROUP BY study_id, fidelity, metric, judged_by, judged_on
),
kendall AS (
  SELECT a.study_id, a.fidelity, a.metric,
    sum(sign(a.goodness - b.goodness) * sign(a.judged - b.judged)) / nullif(sqrt(
      sum((a.goodness <> b.goodness)::BIGINT) * sum((a.judged <> b.judged)::BIGINT)), 0) AS tau
  FROM pairs a JOIN pairs b ON b.study_id = a.study_id AND b.fidelity = a.fidelity
    AND b.metric = a.metric AND b.trial_id > a.trial_id
  GROUP BY a.study_id, a.fidelity, a.metric
),
fisher AS (
  -- Of three trials or fewer there is no rho, and of one no edge either: least() and greatest() would take it for one.
  SELECT *, if(rho IS NULL, NULL, greatest(-edge, least(edge, rho))) AS inside,
    sqrt((1 + rho * rho / 2) / (trials - 3)) AS error
  FROM (SELECT *, 1 - 6 / (trials * (trials * trials - 1)) AS edge FROM spearman)
)
SELECT f.study_id, f.fidelity, f.metric, f.samples, f.judged_by, f.judged_on, f.trials,
  f.rho AS spearman,
  least(f.rho, tanh(atanh(f.inside) - 1.959963984540054 * f.error)) AS spearman_low,
  greatest(f.rho, tanh(atanh(f.inside) + 1.959963984540054 * f.error)) AS spearman_high,
  if(f.rho IS NULL, NULL, k.tau) AS kendall
FROM fisher f LEFT JOIN kendall k USING (study_id, fidelity, metric);

COMMENT ON VIEW rung_agreement IS
  'How well a figure of a rung orders the trials of a study as its last rung''s quality does: rank correlations over the trials that have both.';
