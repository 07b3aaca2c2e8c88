import assert from "node:assert/strict";
import {
  type Action,
  type AgentMethod,
  type Answer,
  type Facts,
  inferSpec,
  readableId,
  resolveActions,
  type Sampler,
  type SearchContext,
  seededRandom,
  strategyKey,
  type Trial,
} from "../../core/mod.ts";
import { methods, plugins, request, smallFacts } from "../core/spec_fixtures.ts";

export const facts = smallFacts();
export type Step = readonly [method: string, params?: Action["params"]];

export const recipe = (...steps: Step[]): Action[] =>
  steps.map(([method, params]) => ({ agent: "shrinking", method, params: params ?? {} }));

export function trial(
  number: number,
  actions: Action[],
  more: Partial<Trial> = {},
  own: readonly AgentMethod[] = methods,
): Trial {
  const resolved = resolveActions(actions, own, facts);
  return {
    trial_id: `t${number}`,
    study_id: "study",
    number,
    strategy: {
      strategy_id: readableId(number, resolved),
      actions,
      origin: { sampler: "test", mode: "seed", reason: "" },
    },
    actions: resolved,
    artifact_ids: [],
    state: "completed",
    fidelity: "full",
    failure: null,
    measurements: [],
    constraints: [],
    gates: [],
    reward: null,
    spans: [],
    seed: 0,
    started_at: "",
    finished_at: null,
    ...more,
  };
}

export const baseline = { ...trial(0, recipe(["octet"])), strategy: null, actions: [] };

export function context(more: Partial<SearchContext> = {}, own = methods): SearchContext {
  const spec = inferSpec(request(), more.facts ?? facts, { ...plugins, methods: own });
  return {
    facts,
    spec,
    methods: own,
    recoveries: [],
    trials: [],
    front: [],
    costs: [],
    budget: { seconds_left: null, trials_left: null, full_evaluations_left: 8 },
    under_way: [],
    earlier: [],
    format_losses: [],
    predictSeconds: () => 0,
    samples: () => undefined,
    signal: new AbortController().signal,
    seed: 1,
    random: seededRandom(1),
    ...more,
  };
}

/** The answer of a sampler that asks nobody and so need not be waited for. */
export function proposed(sampler: Sampler, start: SearchContext): Answer | null {
  const answer = sampler.propose(start);
  assert.ok(!(answer instanceof Promise), `${sampler.name} waits for something`);
  return answer;
}

export const only = (...names: string[]): AgentMethod[] =>
  methods.filter(({ method }) => names.includes(method.name));

export const key = (actions: Action[], where: Facts = facts) =>
  strategyKey(resolveActions(actions, methods, where));

/** Proposes until nothing is left or `limit` is reached; every proposal becomes a trial. */
export function run(sampler: Sampler, limit: number, start: SearchContext): Trial[] {
  const trials = [...start.trials];
  for (let i = 0; i < limit; i++) {
    const proposal = proposed(sampler, { ...start, trials, front: trials.map((t) => t.trial_id) });
    if (proposal === null) break;
    trials.push(trial(trials.length + 1, proposal.actions, {}, start.methods));
  }
  return trials;
}

/** What the sampler proposes for many seeds in one and the same situation. */
export function proposals(
  sampler: Sampler,
  situation: Partial<SearchContext>,
  n = 60,
  own = methods,
) {
  return Array.from({ length: n }, (_, seed) => {
    const proposal = proposed(sampler, context({ ...situation, random: seededRandom(seed) }, own));
    assert.ok(proposal !== null);
    return proposal;
  });
}
