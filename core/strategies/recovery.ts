import { resolvedSchema } from "../contract/knobs.ts";
import type { Effect } from "../contract/change.ts";
import type { Agent, Recovery, SearchContext } from "../contract/plugin.ts";
import { isQuality } from "../evidence/constraints.ts";
import type { Action, ResolvedAction } from "../schemas/action.ts";
import type { Answer } from "../schemas/proposal.ts";
import type { Trial } from "../schemas/trial.ts";
import { chainOf } from "./chain.ts";
import { checkStrategy } from "./compatibility.ts";
import { type AgentMethod, resolveActions } from "./resolve_action.ts";
import { trialName } from "./strategy_names.ts";
import { fitsTime, usableMethods } from "./untried.ts";

/** A recovery with the agent that declares it. */
export type AgentRecovery = { readonly agent: string } & Recovery;

/** All that these agents declare, in their order. */
export function recoveriesOf(agents: readonly Agent[]): AgentRecovery[] {
  return agents.flatMap(({ name, recovers = [] }) =>
    recovers.map((recovery) => ({ agent: name, ...recovery }))
  );
}

const isOf = ({ agent, method }: AgentMethod, action: Action | ResolvedAction): boolean =>
  agent === action.agent && method.name === action.method;

/** False for an action of a method that this study may not use, or whose knobs have changed since. */
export function stillFits(action: ResolvedAction, methods: readonly AgentMethod[]): boolean {
  const entry = methods.find((one) => isOf(one, action));
  return entry !== undefined && resolvedSchema(entry.method.knobs).safeParse(action.params).success;
}

/** Whether a trial lost more quality than it may: a gate ended it, or its constraint is violated. */
function lost({ state, constraints }: Trial): boolean {
  const violated = constraints.some((one) => isQuality(one) && one.verdict === "violated");
  return state === "stopped" || (state === "completed" && violated);
}

/**
 * The recipe with the recovery's action in it: behind the last action that it answers to or, where it
 * cannot run there, at the nearest place before, as what is rounded is trained before. Null: nowhere.
 */
function placed(
  actions: readonly Action[],
  effects: readonly (readonly Effect[])[],
  { agent, after, method, params }: AgentRecovery,
  canRun: (actions: readonly Action[]) => boolean,
): Action[] | null {
  const last = effects.findLastIndex((some) => some.some((effect) => after.includes(effect)));
  if (last < 0 || effects.flat().includes("trains")) return null;
  const own: Action = { agent, method, params: { ...params } };
  for (let place = last + 1; place >= 0; place--) {
    const recovered = actions.toSpliced(place, 0, own);
    if (canRun(recovered)) return recovered;
  }
  return null;
}

/**
 * The first recovery that no trial has tried: of the latest trial that lost too much, by the first
 * agent that knows a way. `admissible` says whether a recipe can run and is new.
 */
export function recoveryOf(
  context: SearchContext,
  admissible: (actions: readonly Action[]) => boolean,
): Answer | null {
  const { recoveries, trials, facts } = context;
  if (recoveries.length === 0) return null;
  const methods = usableMethods(context);
  const canRun = (actions: readonly Action[]) =>
    actions.every((one) => methods.some((entry) => isOf(entry, one))) &&
    checkStrategy(resolveActions(actions, methods, facts), methods, facts).ok;
  for (const trial of trials.toReversed()) {
    if (trial.actions.length === 0 || !lost(trial)) continue;
    if (!trial.actions.every((action) => stillFits(action, methods))) continue;
    const chain = chainOf(trial.actions, methods, facts);
    const effects = chain.map(({ leaves }) => leaves.changes.map(({ effect }) => effect));
    const plain = trial.actions.map(({ agent, method, params }) => ({ agent, method, params }));
    for (const recovery of recoveries) {
      const actions = placed(plain, effects, recovery, canRun);
      if (actions === null || !admissible(actions) || !fitsTime(context, actions)) continue;
      const reason = `${trialName(trial.number)} lost too much; ${recovery.agent} recovers it by ` +
        `${recovery.method}: ${recovery.reason}`;
      return { actions, origin: { mode: "exploit", reason } };
    }
  }
  return null;
}
