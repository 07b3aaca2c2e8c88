CREATE TABLE episodes (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, position BIGINT NOT NULL, happened_at TIMESTAMP,
  trial_id VARCHAR, sampler VARCHAR NOT NULL, mode VARCHAR NOT NULL, hypervolume DOUBLE,
  front_size BIGINT NOT NULL,
  reward DOUBLE,
  hypervolume_low DOUBLE,
  hypervolume_high DOUBLE,
  spent_seconds DOUBLE,
  spent_gpu_hours DOUBLE,
  spent_joules DOUBLE
);

-- How probable it was, as an episode ended, that nothing beats a trial.
CREATE TABLE episode_probabilities (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, trial_id VARCHAR NOT NULL,
  front_probability DOUBLE NOT NULL
);
COMMENT ON TABLE episode_probabilities IS
  'The probability that each trial measured in full belongs on the front, as every episode left it.';

-- Members of the front beside each other in quality, as an episode left it.
CREATE TABLE episode_neighbours (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, place BIGINT NOT NULL,
  better VARCHAR NOT NULL, worse VARCHAR NOT NULL, difference DOUBLE NOT NULL,
  low DOUBLE NOT NULL, high DOUBLE NOT NULL, samples BIGINT NOT NULL,
  told_apart BOOLEAN NOT NULL, more BIGINT, existing BIGINT
);

-- Members of the front that the samples do not tell apart in quality, as an episode left it.
CREATE TABLE episode_groups (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, group_number BIGINT NOT NULL,
  place BIGINT NOT NULL, trial_id VARCHAR NOT NULL
);

CREATE TABLE episode_front (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, rank BIGINT NOT NULL,
  trial_id VARCHAR NOT NULL
);

-- The reward of an episode's trial, term by term, as the turn ended.
CREATE TABLE episode_rewards (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, term VARCHAR NOT NULL,
  weight DOUBLE NOT NULL, normalised DOUBLE, contribution DOUBLE NOT NULL, note VARCHAR
);

CREATE TABLE refused (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, strategy VARCHAR NOT NULL,
  reason VARCHAR NOT NULL
);

CREATE TABLE beliefs (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, agent VARCHAR NOT NULL, method VARCHAR NOT NULL,
  trials BIGINT NOT NULL, alpha DOUBLE NOT NULL, beta DOUBLE NOT NULL
);
COMMENT ON TABLE beliefs IS
  'What a sampler that goes by beliefs (bandit) thinks of each method after an episode: Beta(alpha, beta) of the probability that a recipe with it has a better reward than another trial of the study. The view method_beliefs has its mean.';

CREATE TABLE proposals (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, answered_at TIMESTAMP,
  number BIGINT NOT NULL, ask BIGINT NOT NULL, sampler VARCHAR NOT NULL,
  recipe VARCHAR, mode VARCHAR, reason VARCHAR, failure VARCHAR, seconds DOUBLE NOT NULL,
  shown_hash VARCHAR NOT NULL, shown_trials VARCHAR[] NOT NULL, shown_front VARCHAR[] NOT NULL,
  under_way VARCHAR[] NOT NULL, earlier_studies VARCHAR[] NOT NULL,
  seconds_left DOUBLE, trials_left BIGINT, full_evaluations_left BIGINT NOT NULL
);
COMMENT ON TABLE proposals IS
  'Every asking of a sampler: what it was shown and what it answered, also where the answer was refused. Strategies of the request and seeds are asked of nobody. Joins episodes by study_id and number.';

CREATE TABLE consultations (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, answered_at TIMESTAMP,
  number BIGINT NOT NULL, ask BIGINT NOT NULL, exchange BIGINT NOT NULL, sampler VARCHAR NOT NULL,
  base_url VARCHAR NOT NULL, model VARCHAR, prompt VARCHAR NOT NULL, evidence VARCHAR[] NOT NULL,
  reply VARCHAR, outcome VARCHAR NOT NULL, reason VARCHAR, seconds DOUBLE NOT NULL
);
COMMENT ON TABLE consultations IS
  'Every exchange with the language model that proposes recipes (--strategist): what it was told, what it answered, what became of that. Joins proposals by study_id, number and ask; the view consulted_trials has the trial that came of it.';

CREATE TABLE earlier_trials (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  earlier_study_id VARCHAR NOT NULL, earlier_trial_id VARCHAR NOT NULL,
  state VARCHAR NOT NULL, fidelity VARCHAR, reward DOUBLE
);
COMMENT ON TABLE earlier_trials IS
  'Trials of earlier studies that the samplers of a study are shown; without a row: none. Figures are in the rows of the earlier trials themselves.';

CREATE TABLE format_losses (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, scored_study_id VARCHAR NOT NULL,
  part VARCHAR NOT NULL, format VARCHAR NOT NULL, weight_bits DOUBLE NOT NULL, kl DOUBLE NOT NULL
);
COMMENT ON TABLE format_losses IS
  'What the samplers of a study are shown of the scores of its original''s layers, added up by part and format; without a row: nobody had scored them. The layers are in layer_sensitivity.';
