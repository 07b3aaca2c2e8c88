-- An artifact's figures stand once; each trial that went through it has them.
CREATE VIEW artifact_figures AS
WITH used AS (SELECT DISTINCT study_id, trial_id, artifact_id FROM trial_artifacts),
latest AS (
  SELECT study_id, trial_id, artifact_id, max(action_index) AS action_index,
    arg_max(agent, action_index) AS agent, arg_max(method, action_index) AS method
  FROM actions WHERE artifact_id IS NOT NULL GROUP BY ALL
)
SELECT u.study_id, u.trial_id, t.readable_id, s.action_index, coalesce(s.agent, a.agent) AS agent,
  coalesce(s.method, a.method) AS method, u.artifact_id, f.layer_index, f.layer, f.metric, f.value,
  f.unit
FROM used u
JOIN layer_sensitivities f USING (artifact_id)
LEFT JOIN latest s
  ON s.study_id = u.study_id AND s.trial_id = u.trial_id AND s.artifact_id = u.artifact_id
LEFT JOIN artifacts a ON a.artifact_id = u.artifact_id
LEFT JOIN trials t ON t.study_id = u.study_id AND t.trial_id = u.trial_id;

COMMENT ON VIEW artifact_figures IS
  'What each action left, in numbers: its method''s own figures, by layer or of the whole model, and the cosine of each layer.';
