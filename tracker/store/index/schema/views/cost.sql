-- Minutes and joules are sums over the calls of a trial; NULL where nobody measured them.
CREATE VIEW cost AS
WITH by_call AS (
  SELECT study_id, trial_id, call, max(seconds) AS seconds,
    avg(cpu_utilisation) AS cores, avg(power_watts) AS watts
  FROM resources GROUP BY study_id, trial_id, call
),
used AS (
  SELECT study_id, trial_id, sum(cores * seconds) / 60 AS cpu_minutes,
    sum(watts * seconds) AS joules
  FROM by_call GROUP BY study_id, trial_id
),
worked AS (
  SELECT study_id, trial_id, sum(seconds) FILTER (name <> 'loop') / 60 AS minutes
  FROM spans GROUP BY study_id, trial_id
),
trial_cost AS (
  SELECT t.study_id, t.trial_id, w.minutes,
    CASE s.device WHEN 'cuda' THEN w.minutes END AS gpu_minutes, u.cpu_minutes,
    coalesce(u.joules, u.cpu_minutes * 60 * s.cpu_watts_per_thread) AS joules,
    CASE WHEN u.joules IS NOT NULL THEN 'nvml-power'
      WHEN u.cpu_minutes * s.cpu_watts_per_thread IS NOT NULL THEN 'estimate' END AS energy_reader
  FROM trials t JOIN studies s USING (study_id)
  LEFT JOIN worked w ON w.study_id = t.study_id AND w.trial_id = t.trial_id
  LEFT JOIN used u ON u.study_id = t.study_id AND u.trial_id = t.trial_id
),
totals AS (
  SELECT study_id, sum(minutes) AS minutes, sum(gpu_minutes) AS gpu_minutes,
    sum(cpu_minutes) AS cpu_minutes,
    -- What was read in two ways is no sum.
    CASE WHEN count(DISTINCT energy_reader) = 1 THEN sum(joules) END AS joules,
    count(*) AS trials
  FROM trial_cost GROUP BY study_id
),
members AS (
  SELECT p.study_id, p.trial_id, count(*) OVER (PARTITION BY p.study_id) AS front_size
  FROM front_points p JOIN trials t USING (study_id, trial_id)
  WHERE p.rank = 0 AND t.strategy_id IS NOT NULL
)
SELECT m.study_id, m.trial_id, t.readable_id, c.minutes, c.gpu_minutes, c.cpu_minutes, c.joules,
  c.energy_reader,
  m.front_size, s.trials AS study_trials,
  s.minutes / m.front_size AS study_minutes_per_point,
  s.gpu_minutes / m.front_size AS study_gpu_minutes_per_point,
  s.cpu_minutes / m.front_size AS study_cpu_minutes_per_point,
  s.joules / m.front_size AS study_joules_per_point
FROM members m
JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id
JOIN trial_cost c ON c.study_id = m.study_id AND c.trial_id = m.trial_id
JOIN totals s ON s.study_id = m.study_id;

COMMENT ON VIEW cost IS
  'What each point of the front cost, and what the whole study cost a point; NULL where it was not measured.';
