import type { SearchContext } from "../contract/plugin.ts";
import type { TrialCost, TrialUnderWay } from "../contract/shown.ts";
import { DEFAULT_FULL_EVALUATIONS } from "../spec/limits.ts";
import { fnv1a64, streamRandom } from "../random.ts";
import type { Action } from "../schemas/action.ts";
import { FULL } from "../schemas/fidelity.ts";
import type { SearchBudget, Shown } from "../schemas/proposal.ts";
import type { Trial } from "../schemas/trial.ts";
import { rungNames } from "../schemas/rungs.ts";
import { resolveActions } from "../strategies/resolve_action.ts";
import { estimateTrial, secondsLeft } from "./cost/budget.ts";
import { allowedMethods } from "./queue.ts";
import { trialsLeft } from "./stop.ts";
import { currentFront, type Study, visibleTrials } from "./study.ts";

/**
 * What a sampler is shown. The random numbers depend on seed, episode and asking alone, so that a
 * study that goes on repeats them.
 */
export function searchContext(study: Study, number: number, ask: number): SearchContext {
  const { facts, methods, request } = study.input;
  const trials = visibleTrials(study);
  const allowed = allowedMethods(methods, study.spec);
  const label = ask === 0 ? `episode ${number}` : `episode ${number} asking ${ask}`;
  return {
    facts,
    spec: study.spec,
    methods: allowed,
    recoveries: study.input.recoveries ?? [],
    trials,
    front: currentFront(study).ids,
    costs: trials.map((trial) => costOf(trial, facts.device.device)),
    budget: budgetOf(study),
    under_way: underWay(study),
    earlier: study.earlier,
    format_losses: study.format_losses,
    predictSeconds: (actions) => predict(study, actions),
    samples(trial_id, fidelity) {
      const known = study.evaluations.get(trial_id);
      const highest = rungNames(study.spec).findLast((rung) => known?.has(rung));
      return known?.get(fidelity ?? highest ?? "")?.samples;
    },
    ...libraryOf(study),
    signal: study.ports.signal,
    seed: request.seed,
    random: streamRandom(request.seed, label),
  };
}

function libraryOf({ ports: { libraries } }: Study): Pick<SearchContext, "suggest"> {
  return libraries === undefined ? {} : { suggest: (request) => libraries.suggest(request) };
}

function costOf({ trial_id, spans }: Trial, device: string): TrialCost {
  const seconds: Record<string, number> = {};
  for (const span of spans) {
    const phase = span.phase ?? span.name;
    seconds[phase] = (seconds[phase] ?? 0) + span.seconds;
  }
  const total_seconds = spans.reduce((sum, span) => sum + span.seconds, 0);
  return { trial_id, seconds, total_seconds, gpu_seconds: device === "cuda" ? total_seconds : 0 };
}

function budgetOf(study: Study): SearchBudget {
  const seconds = secondsLeft(study);
  const total = study.input.request.max_full_evaluations ?? DEFAULT_FULL_EVALUATIONS;
  return {
    seconds_left: Number.isFinite(seconds) ? Math.max(0, seconds) : null,
    trials_left: trialsLeft(study),
    full_evaluations_left: Math.max(0, total - study.fullEvaluations),
  };
}

function underWay({ held, open }: Study): TrialUnderWay[] {
  return [...open].map((draft) => ({
    trial_id: draft.trial.trial_id,
    actions: draft.trial.actions,
    fidelity: draft.trial.fidelity,
    waits_for: held.includes(draft) ? FULL : null,
  }));
}

function predict(study: Study, actions: readonly Action[]): number | null {
  try {
    const { methods, facts } = study.input;
    return estimateTrial(study, resolveActions(actions, methods, facts, "explore"));
  } catch {
    return null; // a wrong name, a value that a knob does not take, a plugin that throws
  }
}

/** What a context holds, in brief, with a hash over all of its data. */
export function shownOf(context: SearchContext): Shown {
  const { facts, spec, methods, trials, front, costs, budget, under_way, earlier, format_losses } =
    context;
  const data = JSON.stringify([
    facts,
    spec,
    methods.map(({ agent, method }) => `${agent}/${method.name}`),
    trials,
    front,
    costs,
    budget,
    under_way,
    earlier,
    ...(format_losses.length === 0 ? [] : [format_losses]),
  ]);
  return {
    hash: fnv1a64(data),
    trials: trials.map(({ trial_id }) => trial_id),
    front: [...front],
    under_way: under_way.map(({ trial_id }) => trial_id),
    earlier_studies: [...new Set(earlier.map(({ study_id }) => study_id))],
    budget,
  };
}
