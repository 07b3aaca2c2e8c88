-- An artifact's figures stand once; each trial that went through it has them.
CREATE VIEW artifact_figures AS
WITH used AS (SELECT DISTINCT study_id, trial_id, artifact_id FROM trial_artifacts),
stages AS (
  SELECT study_id, trial_id, artifact_id, max(action_index) + 1 AS stage,
    arg_max(agent, action_index) AS agent, arg_max(method, action_index) AS method
  FROM actions WHERE artifact_id IS NOT NULL GROUP BY ALL
)
SELECT u.study_id, u.trial_id, t.readable_id, s.stage, coalesce(s.agent, a.agent) AS agent,
  coalesce(s.method, a.method) AS method, u.artifact_id, f.layer_index, f.layer, f.metric, f.value,
  f.unit
FROM used u
JOIN layer_sensitivities f USING (artifact_id)
LEFT JOIN stages s
  ON s.study_id = u.study_id AND s.trial_id = u.trial_id AND s.artifact_id = u.artifact_id
LEFT JOIN artifacts a ON a.artifact_id = u.artifact_id
LEFT JOIN trials t ON t.study_id = u.study_id AND t.trial_id = u.trial_id;

COMMENT ON VIEW artifact_figures IS
  'What each action left, in numbers: its method''s own figures, by layer or of the whole model, and the cosine of each layer.';
COMMENT ON COLUMN artifact_figures.study_id IS 'the study it belongs to';
COMMENT ON COLUMN artifact_figures.trial_id IS
  'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN artifact_figures.readable_id IS 'what the trial does, such as s03-gptq-4bit-g64';
COMMENT ON COLUMN artifact_figures.stage IS
  'number of the action in its chain, from 1; NULL while the trial runs';
COMMENT ON COLUMN artifact_figures.agent IS 'folder of the method';
COMMENT ON COLUMN artifact_figures.method IS 'whose figures these are';
COMMENT ON COLUMN artifact_figures.artifact_id IS 'what the action left';
COMMENT ON COLUMN artifact_figures.layer_index IS 'place of the row in the order of the model, of each metric from 0';
COMMENT ON COLUMN artifact_figures.layer IS 'module''s name; NULL: of the whole model';
COMMENT ON COLUMN artifact_figures.metric IS
  'the method''s own name, such as sparsity; cosine: of a layer''s weights with the parent''s';
COMMENT ON COLUMN artifact_figures.value IS 'in the unit beside it';
COMMENT ON COLUMN artifact_figures.unit IS '1 where it has none';
