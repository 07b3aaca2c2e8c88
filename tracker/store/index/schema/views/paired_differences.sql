-- The core's own paired comparison (core/evidence/quality.ts, statistics.ts), which a test holds it to:
-- Bonett and Price's interval of right-or-wrong scores, else the mean and 1.96 standard errors, both by
-- strata where a benchmark was drawn so. Only the full evaluation decides, and only it stands here.
CREATE VIEW paired_differences AS
WITH figures AS (
  -- What a task's samples are scored by: the latest figure of the task's own metric.
  SELECT m.study_id, m.trial_id, m.task,
    last(m.metric ORDER BY m.position, m.rowid) AS metric,
    any_value(p."primary") AS "primary", any_value(p.weight) AS weight,
    any_value(p.available_samples) AS available
  FROM measurements m
  JOIN study_tasks p ON p.study_id = m.study_id AND p.task = m.task
    AND (p.metric = m.metric OR (p.metric IS NULL AND m.metric IN ('accuracy', 'perplexity')))
  WHERE m.fidelity = 'full' AND m.slice IS NULL
  GROUP BY m.study_id, m.trial_id, m.task
),
pairs AS (
  SELECT o.study_id, o.trial_id, o.task, o.score - r.score AS d,
    o.score IN (0, 1) AND r.score IN (0, 1) AS right_or_wrong,
    o.score BETWEEN 0 AND 1 AND r.score BETWEEN 0 AND 1 AS shares,
    r.stratum, r.stratum_rows,
    bool_and(r.stratum_rows IS NOT NULL)
      OVER (PARTITION BY o.study_id, o.trial_id, o.task) AS drawn
  FROM samples o
  JOIN trials b ON b.study_id = o.study_id AND b.strategy_id IS NULL AND b.state = 'completed'
  JOIN samples r ON r.study_id = o.study_id AND r.trial_id = b.trial_id
    AND r.fidelity = o.fidelity AND r.task = o.task AND r.sample_hash = o.sample_hash
  LEFT JOIN protocols po ON po.study_id = o.study_id AND po.trial_id = o.trial_id
    AND po.fidelity = o.fidelity AND po.task = o.task
  LEFT JOIN protocols pr ON pr.study_id = r.study_id AND pr.trial_id = r.trial_id
    AND pr.fidelity = r.fidelity AND pr.task = r.task
  WHERE o.fidelity = 'full' AND o.trial_id <> b.trial_id
    AND (po.protocol IS NULL OR pr.protocol IS NULL OR po.protocol = pr.protocol)
),
strata AS (
  -- A score that is no number leaves its task without a difference: DuckDB refuses the variance of NaN.
  SELECT study_id, trial_id, task, count(*) AS n, avg(d) FILTER (isfinite(d)) AS mean,
    avg(d * d) FILTER (isfinite(d)) AS mean_square,
    var_pop(d) FILTER (isfinite(d)) * count(*) AS squares, bool_and(isfinite(d)) AS finite,
    any_value(drawn) AS drawn,
    CASE WHEN any_value(drawn) THEN any_value(stratum_rows) ELSE 1 END AS stratum_rows,
    bool_and(right_or_wrong) AS right_or_wrong, bool_and(shares) AS shares,
    count(*) FILTER (isfinite(d) AND d > 0) AS risen,
    count(*) FILTER (isfinite(d) AND d < 0) AS fallen
  FROM pairs
  GROUP BY study_id, trial_id, task, CASE WHEN drawn THEN coalesce(stratum, '') ELSE '' END
),
shared AS (
  SELECT *, stratum_rows / sum(stratum_rows) OVER of_task AS share,
    sum(n) OVER of_task AS of_all, sum(n - 1) OVER of_task AS freedom,
    sum(squares) OVER of_task AS all_squares,
    -- About the mean of all pairs alike, where every stratum has one.
    sum(n * mean * mean) OVER of_task - sum(n * mean) OVER of_task ^ 2 / sum(n) OVER of_task
      AS between_squares
  FROM strata
  WINDOW of_task AS (PARTITION BY study_id, trial_id, task)
),
tasks AS (
  SELECT study_id, trial_id, task, sum(n)::BIGINT AS n,
    CASE WHEN bool_and(finite) THEN sum(share * mean) END AS mean,
    sum(share * mean_square) AS mean_square, 1 / sum(share ^ 2 / n) AS counted,
    sqrt(sum(share ^ 2 / n * CASE
      WHEN n > 1 THEN squares / (n - 1)
      WHEN freedom = 0 THEN between_squares / nullif(of_all - 1, 0)
      ELSE all_squares / freedom END)) AS standard_error,
    bool_and(right_or_wrong) AS right_or_wrong, bool_and(shares) AS shares,
    sum(risen)::BIGINT AS risen, sum(fallen)::BIGINT AS fallen
  FROM shared GROUP BY study_id, trial_id, task
),
added AS (
  -- One pair of each disagreement more, where scores are right or wrong.
  SELECT *, counted * mean / (counted + 2) AS added_centre,
    (counted * mean_square + 2) / (counted + 2) AS added_square,
    right_or_wrong OR (shares AND coalesce(standard_error, 0) < 1e-12) AS adds
  FROM tasks
),
judged AS (
  SELECT a.*, f.metric, f."primary", coalesce(f.weight, 1) AS weight,
    CASE WHEN f.available IS NOT NULL THEN a.n >= f.available END AS exact,
    CASE WHEN adds THEN added_centre ELSE mean END AS centre,
    CASE WHEN n < 2 OR mean IS NULL THEN NULL
      WHEN adds THEN 1.959963984540054
        * sqrt(greatest(0, added_square - added_centre ^ 2) / (counted + 2))
      ELSE 1.959963984540054 * standard_error END AS half
  FROM added a
  JOIN figures f ON f.study_id = a.study_id AND f.trial_id = a.trial_id AND f.task = a.task
),
together AS (
  SELECT study_id, trial_id, NULL::VARCHAR AS task,
    CASE metric WHEN 'perplexity' THEN 'perplexity' ELSE 'accuracy' END AS metric,
    CASE WHEN count(mean) = count(*) THEN sum(weight * mean) / sum(weight) END AS mean,
    CASE WHEN count(mean) = count(*) THEN sum(weight * centre) / sum(weight) END AS centre,
    -- The tasks' errors are independent; one that has none leaves the whole without.
    CASE WHEN count(half) = count(*) THEN sqrt(sum((weight * half) ^ 2)) / sum(weight) END AS half,
    sum(n)::BIGINT AS n, sum(risen)::BIGINT AS risen, sum(fallen)::BIGINT AS fallen,
    CASE WHEN count(exact) = count(*) THEN bool_and(exact) END AS exact
  FROM judged WHERE "primary" AND (shares OR metric = 'perplexity')
  GROUP BY study_id, trial_id, CASE metric WHEN 'perplexity' THEN 'perplexity' ELSE 'accuracy' END
),
rows AS (
  SELECT study_id, trial_id, task, metric, mean, centre, half, n, risen, fallen, exact FROM judged
  UNION ALL BY NAME FROM together
)
SELECT study_id, trial_id, task, metric,
  CASE metric WHEN 'perplexity' THEN exp(mean) - 1 ELSE mean END AS difference,
  CASE metric WHEN 'perplexity' THEN exp(centre - half) - 1 ELSE centre - half END
    AS difference_low,
  CASE metric WHEN 'perplexity' THEN exp(centre + half) - 1 ELSE centre + half END
    AS difference_high,
  n,
  CASE metric WHEN 'perplexity' THEN fallen ELSE risen END AS wins,
  CASE metric WHEN 'perplexity' THEN risen ELSE fallen END AS losses,
  exact
FROM rows;

COMMENT ON VIEW paired_differences IS
  'How far each trial differs from the baseline on the same samples of the full evaluation, one row per trial and task, with one over all primary tasks.';
