import type { Action, Origin } from "../schemas/action.ts";
import type { Episode } from "../schemas/journal.ts";
import type { EarlierTrial } from "../schemas/proposal.ts";
import type { Trial } from "../schemas/trial.ts";
import { earlierStrategies } from "../strategies/earlier_strategies.ts";
import { type AgentMethod, resolveActions, withOwnNames } from "../strategies/resolve_action.ts";
import { ruleStrategies } from "../strategies/rule_strategies.ts";
import { seedStrategies } from "../strategies/seed_strategies.ts";
import type { Spec } from "../schemas/spec.ts";
import { isFinished } from "../resume/replay.ts";
import type { StudyInput } from "./study_input.ts";

/** A strategy that is to run before the samplers are asked. */
export interface QueuedStrategy {
  readonly actions: readonly Action[];
  readonly origin: Origin;
}

/**
 * What runs first, in order: strategies that an earlier run of the study left unfinished, the
 * user's own, the best of earlier studies, what rules ask for, the seeds. Doubles are dropped where they
 * are taken from the queue.
 */
export function initialQueue(
  input: Pick<StudyInput, "request" | "facts" | "methods" | "rules">,
  spec: Spec,
  trials: readonly Trial[],
  earlier: readonly EarlierTrial[],
): { queue: QueuedStrategy[]; refused: Episode["refused"] } {
  const { request, facts, methods } = input;
  const unfinished = trials.flatMap((trial) =>
    trial.strategy === null || isFinished(trial) ? [] : [trial.strategy]
  );
  const users = request.strategies.map(({ actions }): QueuedStrategy => ({
    actions: withOwnNames(actions, methods),
    origin: { sampler: "user", mode: "user", reason: "given with the request" },
  }));
  const rules = request.rules ?? input.rules ?? [];
  const ruled = ruleStrategies(rules, request, spec, facts, methods);
  const known = earlierStrategies(earlier, spec, facts, methods);
  const { seeds, refused } = seedStrategies(spec, facts, methods);
  return {
    queue: [...unfinished, ...users, ...known, ...ruled.strategies, ...seeds],
    refused: [...ruled.refused, ...refused],
  };
}

/** Fails on the user's strategies before anything is written: a wrong name or value. */
export function checkUserStrategies(input: StudyInput): void {
  for (const { actions } of input.request.strategies) {
    resolveActions(actions, input.methods, input.facts);
  }
}

/** Methods that the spec did not refuse: what samplers choose from. */
export function allowedMethods(methods: readonly AgentMethod[], spec: Spec): AgentMethod[] {
  return methods.filter(({ agent, method }) =>
    spec.methods.every((verdict) =>
      verdict.agent !== agent || verdict.method !== method.name || verdict.supported
    )
  );
}
