import {
  type AgentMethod,
  type ChatMessage,
  type EarlierTrial,
  type FormatLoss,
  knobRange,
  metricOf,
  type SearchContext,
  strategyWords,
  type Trial,
  usableMethods,
} from "../../core/mod.ts";

/** Trials that the model is told of at most: the front, then the latest. */
const MOST_TRIALS = 60;
/** Of earlier studies. */
const MOST_EARLIER = 15;

const TASK =
  `You choose the next recipe for compressing a language model. A recipe is an ordered list of
actions; each names an agent, one of its methods, and values for some of the method's knobs (a knob left
out takes its default, "auto" leaves it to the method). Goal: extend the Pareto front of the objectives
within the constraints. Every figure below was measured; a trial that was stopped lost too much. Change
what the figures give you a reason to change, and never propose a recipe again that a trial has had.

Answer with one JSON object and nothing else:
{"actions": [{"agent": "...", "method": "...", "params": {"knob": value}}],
 "evidence": ["ids of the trials that your choice rests on"],
 "reason": "one sentence"}`;

/** Three figures that matter: the model copies what it reads. */
const short = (value: number) => Number(value.toPrecision(4));

function methodWords({ agent, method }: AgentMethod) {
  const knobs = Object.entries(method.knobs).map(([name, knob]) => [
    name,
    `${knob.description}: ${knobRange(knob)} (${knob.unit}), default ${knob.default}`,
  ]);
  return { agent, method: method.name, does: method.summary, knobs: Object.fromEntries(knobs) };
}

/** The figures over all tasks that a table of trials shows, on the highest rung last. */
function figuresOf({ measurements }: Trial) {
  const shown = measurements.filter(({ task, metric, value }) =>
    task === null && metricOf(metric)?.column !== undefined && Number.isFinite(value)
  );
  return Object.fromEntries(shown.map(({ metric, value, standard_error }) => [
    metric,
    standard_error === null ? short(value) : { value: short(value), se: short(standard_error) },
  ]));
}

function trialWords(trial: Trial, front: readonly string[]) {
  const { trial_id, strategy, actions, state, fidelity, reward, failure, gates } = trial;
  const stopped = gates.find(({ decision }) => decision !== "pass")?.reason;
  return {
    id: trial_id,
    recipe: strategy === null
      ? "the uncompressed baseline"
      : strategyWords(actions.length > 0 ? actions : strategy.actions),
    state,
    evaluated: fidelity,
    on_front: front.includes(trial_id),
    reward: reward === null || !Number.isFinite(reward.value) ? null : short(reward.value),
    ...(failure === null ? {} : { failure: failure.message.slice(0, 200) }),
    ...(stopped === undefined ? {} : { stopped: stopped.slice(0, 200) }),
    figures: figuresOf(trial),
  };
}

function earlierWords({ trial_id, model_name, dataset, actions, state, figures }: EarlierTrial) {
  return {
    id: trial_id,
    model: model_name.split("/").at(-1),
    dataset: dataset.split("/").at(-1),
    recipe: strategyWords(actions),
    state,
    figures,
  };
}

/** What a part loses in a format by its layers' scores. */
function lossWords({ part, format, weight_bits, kl }: FormatLoss) {
  return { part, format, bits_per_weight: short(weight_bits), kl_nats_per_token: short(kl) };
}

/** The trials that are told of: the baseline, the front and the latest, in the order they ran. */
function toldOf({ trials, front }: SearchContext): Trial[] {
  const kept = new Set([
    ...trials.filter(({ strategy, trial_id }) => strategy === null || front.includes(trial_id)),
    ...trials.slice(-MOST_TRIALS),
  ]);
  return trials.filter((trial) => kept.has(trial)).slice(-MOST_TRIALS);
}

/**
 * The question to a language model, with the ids of the trials that it is told of. It holds names,
 * shapes and figures: no text of the data, no path of the machine.
 */
export function strategistPrompt(
  context: SearchContext,
): { messages: ChatMessage[]; evidence: string[] } {
  const { facts: { model, device, dataset }, spec, front, budget, format_losses } = context;
  const told = toldOf(context);
  const earlier = context.earlier.slice(0, MOST_EARLIER);
  const evidence = [...told, ...earlier].map(({ trial_id }) => trial_id);
  const study = {
    model: {
      name: model.model_name.split("/").at(-1),
      family: model.model_type,
      parameters: model.parameters,
      embedding_parameters: model.embedding_parameters,
      layers: model.layers,
      hidden_size: model.hidden_size,
      group_sizes_that_divide: model.group_sizes,
    },
    machine: { device: device.device, memory_gb: device.memory_gb, runtime: spec.runtime },
    dataset: { name: dataset.dataset.split("/").at(-1), class: spec.dataset_class },
    objectives: spec.objectives,
    reward_weights: spec.reward_weights,
    constraints: spec.constraints,
    budget,
    methods: usableMethods(context).map(methodWords),
    trials: told.map((trial) => trialWords(trial, front)),
    ...(earlier.length === 0 ? {} : { earlier_studies: earlier.map(earlierWords) }),
    ...(format_losses.length === 0 ? {} : { rounding_alone: format_losses.map(lossWords) }),
  };
  const messages: ChatMessage[] = [
    { role: "system", content: TASK },
    { role: "user", content: JSON.stringify(study) },
  ];
  return { messages, evidence };
}
