CREATE TABLE artifacts (
  artifact_id VARCHAR NOT NULL, action_key VARCHAR NOT NULL,
  parent_id VARCHAR, agent VARCHAR, method VARCHAR,
  files BIGINT NOT NULL,
  size_bytes BIGINT NOT NULL, formula_bytes BIGINT, weight_bits DOUBLE, activation_bits BIGINT,
  verified_layers BIGINT, minimum_cosine DOUBLE, mean_cosine DOUBLE, worst_layer VARCHAR,
  generated_text VARCHAR, verify_seconds DOUBLE, created_at TIMESTAMP,
  float_bytes BIGINT,
  float_parts VARCHAR,
  loader VARCHAR,
  parameters BIGINT
);

CREATE TABLE artifact_files (
  artifact_id VARCHAR NOT NULL, path VARCHAR NOT NULL, bytes BIGINT NOT NULL,
  sha256 VARCHAR NOT NULL
);

CREATE TABLE trial_artifacts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, artifact_id VARCHAR NOT NULL,
  position BIGINT NOT NULL, cached BOOLEAN NOT NULL
);

-- What is known of an artifact in numbers, layer by layer and of the whole; the view artifact_figures
-- has each trial's.
CREATE TABLE layer_sensitivities (
  artifact_id VARCHAR NOT NULL, layer_index BIGINT NOT NULL, layer VARCHAR,
  metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR NOT NULL
);

-- What a format would cost a layer, the layer alone in it; the view layer_sensitivity has the words.
CREATE TABLE layer_scores (
  study_id VARCHAR NOT NULL, artifact_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  layer_index BIGINT NOT NULL, layer VARCHAR NOT NULL, part VARCHAR NOT NULL,
  format VARCHAR NOT NULL, weight_bits DOUBLE NOT NULL, size_bytes BIGINT NOT NULL,
  scorer VARCHAR NOT NULL, value DOUBLE NOT NULL, standard_error DOUBLE, unit VARCHAR NOT NULL,
  n BIGINT, shares_input BIGINT, seed BIGINT, program VARCHAR NOT NULL
);

-- Mixes that were weighed against one another under one budget: a row per candidate.
CREATE TABLE mix_candidates (
  study_id VARCHAR NOT NULL, artifact_id VARCHAR NOT NULL, mix_id VARCHAR NOT NULL,
  position BIGINT NOT NULL, compared_at TIMESTAMP NOT NULL, budget_bytes BIGINT NOT NULL,
  number BIGINT NOT NULL, source VARCHAR NOT NULL, mix VARCHAR NOT NULL,
  size_bytes BIGINT NOT NULL, weight_bits DOUBLE NOT NULL, predicted_kl DOUBLE NOT NULL,
  kl DOUBLE, windows BIGINT NOT NULL, less_uniform DOUBLE, interval_low DOUBLE,
  interval_high DOUBLE, won BOOLEAN NOT NULL, seed BIGINT NOT NULL
);
COMMENT ON TABLE mix_candidates IS
  'Mixes of kept layers that were weighed against one another: a row per candidate, as each pare mix asked';
