CREATE TABLE episodes (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, position BIGINT NOT NULL, happened_at TIMESTAMP,
  trial_id VARCHAR, sampler VARCHAR NOT NULL, mode VARCHAR NOT NULL, hypervolume DOUBLE,
  front_size BIGINT NOT NULL,
  reward DOUBLE, -- of the trial as the turn ended
  hypervolume_low DOUBLE, -- of its 95 % interval
  hypervolume_high DOUBLE,
  spent_seconds DOUBLE,
  spent_gpu_hours DOUBLE,
  spent_joules DOUBLE
);
COMMENT ON COLUMN episodes.hypervolume_low IS
  'lower end of its 95 % interval, from resampled answers; NULL: an older record, or no baseline';
COMMENT ON COLUMN episodes.hypervolume_high IS 'upper end of its 95 % interval';
COMMENT ON COLUMN episodes.spent_seconds IS
  'wall time of the study until the turn ended, pauses of a study by hand left out; NULL: an older record';
COMMENT ON COLUMN episodes.spent_gpu_hours IS 'of the GPU until then; NULL: there is none';
COMMENT ON COLUMN episodes.spent_joules IS
  'at least, of all work until then: processor time by cpu_watts_per_thread, and the GPU''s own power; NULL: not counted';

-- How probable it was, as an episode ended, that nothing beats a trial.
CREATE TABLE episode_probabilities (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, trial_id VARCHAR NOT NULL,
  front_probability DOUBLE NOT NULL
);
COMMENT ON TABLE episode_probabilities IS
  'The probability that each trial measured in full belongs on the front, as every episode left it.';
COMMENT ON COLUMN episode_probabilities.number IS 'of the episode';
COMMENT ON COLUMN episode_probabilities.front_probability IS
  'share of the worlds that the evidence leaves open in which nothing dominates the trial';

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
COMMENT ON COLUMN beliefs.study_id IS 'the study it belongs to';
COMMENT ON COLUMN beliefs.number IS 'of the episode after which it stood so; joins episodes';
COMMENT ON COLUMN beliefs.agent IS 'whose method it is';
COMMENT ON COLUMN beliefs.method IS 'the method';
COMMENT ON COLUMN beliefs.trials IS 'of this study that moved it so far';
COMMENT ON COLUMN beliefs.alpha IS
  '1, half the likeness of earlier studies times what their trials won, and what this study''s did: the share of the other trials that each beats, divided by the methods of its recipe';
COMMENT ON COLUMN beliefs.beta IS 'as alpha, of what they lost';

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
COMMENT ON COLUMN proposals.study_id IS 'the study it belongs to';
COMMENT ON COLUMN proposals.position IS 'of the record in the journal';
COMMENT ON COLUMN proposals.answered_at IS 'UTC';
COMMENT ON COLUMN proposals.number IS 'of the episode that it was asked for';
COMMENT ON COLUMN proposals.ask IS
  'from 0: how often samplers were asked before in this episode; a killed study that goes on may ask again where there was no answer';
COMMENT ON COLUMN proposals.sampler IS 'who was asked';
COMMENT ON COLUMN proposals.recipe IS
  'the answer, such as quantization/rtn(bits=4) + quantization/rtn(targets=embedding); NULL: it had none';
COMMENT ON COLUMN proposals.mode IS 'explore or exploit, as the sampler says; NULL: no answer';
COMMENT ON COLUMN proposals.reason IS 'the sampler''s own; NULL: no answer';
COMMENT ON COLUMN proposals.failure IS 'why it gave no answer; NULL: it did, or had nothing left';
COMMENT ON COLUMN proposals.seconds IS 'that it took';
COMMENT ON COLUMN proposals.shown_hash IS
  'FNV-1a, 64 bits, over everything that it was shown as data: facts, spec, trials, costs, budget, earlier studies';
COMMENT ON COLUMN proposals.shown_trials IS 'trial ids: closed ones, and held ones as results of the rung that they reached';
COMMENT ON COLUMN proposals.shown_front IS 'trial ids, best reward first';
COMMENT ON COLUMN proposals.under_way IS 'trial ids: begun and not closed';
COMMENT ON COLUMN proposals.earlier_studies IS
  'studies of the same architecture whose trials it was shown, see earlier_trials';
COMMENT ON COLUMN proposals.seconds_left IS 'of the budget or of the GPU hours; NULL: no limit';
COMMENT ON COLUMN proposals.trials_left IS 'NULL: no limit';
COMMENT ON COLUMN proposals.full_evaluations_left IS 'of max_full_evaluations';

CREATE TABLE consultations (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, answered_at TIMESTAMP,
  number BIGINT NOT NULL, ask BIGINT NOT NULL, exchange BIGINT NOT NULL, sampler VARCHAR NOT NULL,
  base_url VARCHAR NOT NULL, model VARCHAR, prompt VARCHAR NOT NULL, evidence VARCHAR[] NOT NULL,
  reply VARCHAR, outcome VARCHAR NOT NULL, reason VARCHAR, seconds DOUBLE NOT NULL
);
COMMENT ON TABLE consultations IS
  'Every exchange with the language model that proposes recipes (--strategist): what it was told, what it answered, what became of that. Joins proposals by study_id, number and ask; the view consulted_trials has the trial that came of it.';
COMMENT ON COLUMN consultations.study_id IS 'the study it belongs to';
COMMENT ON COLUMN consultations.position IS 'of the record in the journal';
COMMENT ON COLUMN consultations.answered_at IS 'UTC';
COMMENT ON COLUMN consultations.number IS 'of the episode that it was asked for';
COMMENT ON COLUMN consultations.ask IS 'as of proposals';
COMMENT ON COLUMN consultations.exchange IS
  'from 0: how often the model was asked before in this asking; 1 is told why its first answer was refused';
COMMENT ON COLUMN consultations.sampler IS 'who asked';
COMMENT ON COLUMN consultations.base_url IS 'of the endpoint; its key is kept nowhere';
COMMENT ON COLUMN consultations.model IS 'as the endpoint names it; NULL: it was not reached';
COMMENT ON COLUMN consultations.prompt IS 'what was said since the exchange before, each message behind its role';
COMMENT ON COLUMN consultations.evidence IS 'trials that it was told of: ids, of earlier studies too';
COMMENT ON COLUMN consultations.reply IS 'as it came; NULL: none did';
COMMENT ON COLUMN consultations.outcome IS
  'proposed: a recipe that can run and is new; refused: the answer is none; failed: no answer came';
COMMENT ON COLUMN consultations.reason IS 'why it was refused or failed; NULL: it was proposed';
COMMENT ON COLUMN consultations.seconds IS 'that the answer took';

CREATE TABLE earlier_trials (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  earlier_study_id VARCHAR NOT NULL, earlier_trial_id VARCHAR NOT NULL,
  state VARCHAR NOT NULL, fidelity VARCHAR, reward DOUBLE
);
COMMENT ON TABLE earlier_trials IS
  'Trials of earlier studies that the samplers of a study are shown; without a row: none. Figures are in the rows of the earlier trials themselves.';
COMMENT ON COLUMN earlier_trials.study_id IS 'the study whose samplers are shown them';
COMMENT ON COLUMN earlier_trials.position IS 'of the record in the journal';
COMMENT ON COLUMN earlier_trials.earlier_study_id IS 'a study of a model of the same architecture';
COMMENT ON COLUMN earlier_trials.earlier_trial_id IS 'joins trials';
COMMENT ON COLUMN earlier_trials.state IS 'as it was when it was shown';
COMMENT ON COLUMN earlier_trials.fidelity IS 'as far as it was evaluated then; NULL: not at all';
COMMENT ON COLUMN earlier_trials.reward IS 'under the weights of its own study; NULL: it has none';

CREATE TABLE format_losses (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, scored_study_id VARCHAR NOT NULL,
  part VARCHAR NOT NULL, format VARCHAR NOT NULL, weight_bits DOUBLE NOT NULL, kl DOUBLE NOT NULL
);
COMMENT ON TABLE format_losses IS
  'What the samplers of a study are shown of the scores of its original''s layers, added up by part and format; without a row: nobody had scored them. The layers are in layer_sensitivity.';
COMMENT ON COLUMN format_losses.study_id IS 'the study whose samplers are shown them';
COMMENT ON COLUMN format_losses.position IS 'of the record in the journal';
COMMENT ON COLUMN format_losses.scored_study_id IS 'the study that scored the layers';
COMMENT ON COLUMN format_losses.part IS 'linear, or embedding: the output head, too';
COMMENT ON COLUMN format_losses.format IS 'as in layer_sensitivity';
COMMENT ON COLUMN format_losses.weight_bits IS 'bits per weight of the part, with scales and zero points';
COMMENT ON COLUMN format_losses.kl IS 'nats per token, each layer rounded alone, summed over the part''s layers';
