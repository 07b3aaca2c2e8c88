-- Where in a context each layer keeps tokens: of the first samples of each benchmark, in sixteenths.
CREATE VIEW context_places AS
WITH parts AS (
  SELECT study_id, trial_id, fidelity, task,
    unnest(range(len(kept_places))) AS place, unnest(kept_places) / 100 AS kept
  FROM samples WHERE kept_places IS NOT NULL
)
SELECT p.study_id, p.trial_id, t.methods, t.readable_id, p.fidelity, p.task,
  p.place // 16 AS layer_index, p.place % 16 AS part, avg(p.kept) AS part_kept, count(*) AS n
FROM parts p JOIN trial_summary t USING (study_id, trial_id)
GROUP BY ALL;

COMMENT ON VIEW context_places IS
  'How much of each sixteenth of a context each layer keeps, mean over heads and the first samples of a benchmark; of trials that let go of tokens.';
