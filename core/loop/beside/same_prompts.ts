import type { ResolvedAction } from "../../schemas/action.ts";
import { setWorkers } from "../../spec/workers.ts";
import { checkStrategy } from "../../strategies/compatibility.ts";
import { findMethod, resolveActions } from "../../strategies/resolve_action.ts";
import { strategyKey } from "../../strategies/strategy_names.ts";
import type { Draft, Study } from "../study.ts";

/** Settings that are looked at for one evaluation: what is queued behind them has its own turn. */
const AT_MOST = 64;

/** The weights of a recipe that ends in a setting which chooses by what was read; null: another one. */
function weightsOf({ input }: Study, actions: readonly ResolvedAction[]): string | null {
  const last = actions.at(-1);
  if (last === undefined) return null;
  const { method } = findMethod(input.methods, last.agent, last.method);
  const { cache } = method.leaves(last.params, input.facts).model;
  return cache?.evict_after === undefined ? null : strategyKey(actions.slice(0, -1));
}

/** An evaluation under way: whose weights read, and which recipes it asks beside its own trial. */
interface Asking {
  readonly weights: string;
  readonly keys: ReadonlySet<string>;
}

const asking_now = new WeakMap<Study, Set<Asking>>();

/** What was ever asked beside another: its answers are kept, so that it counts as no work to deal. */
const asked_before = new WeakMap<Study, Set<string>>();

const askingIn = (study: Study): readonly Asking[] => [...asking_now.get(study) ?? []];

/** What waits in the queue and was not run yet, with the weights whose reading of prompts it needs. */
function waitingIn(study: Study) {
  const { queue, keys, input: { methods, facts } } = study;
  return queue.slice(0, AT_MOST).flatMap((entry) => {
    const actions = resolveActions(entry.actions, methods, facts);
    const key = strategyKey(actions);
    return keys.has(key) ? [] : [{ entry, actions, key, weights: weightsOf(study, actions) }];
  });
}

/** Trials under way whose settings choose by what these weights read. */
const readersOf = (study: Study, weights: string): number =>
  [...study.open].filter((one) =>
    !study.held.includes(one) && weightsOf(study, one.trial.actions) === weights
  ).length;

/**
 * Among how many workers the settings of the same weights are dealt, each of which reads the prompts for
 * itself: more than one where there are more workers than other work.
 */
function partiesOf(study: Study, waiting: ReturnType<typeof waitingIn>): number {
  const under_way = [...study.open].filter((one) => !study.held.includes(one));
  const works = new Set([
    ...waiting.map(({ key, weights }) => weights ?? key),
    ...under_way.map(({ trial }) => weightsOf(study, trial.actions) ?? trial.trial_id),
  ]);
  const workers = setWorkers(study.input.request);
  return Math.max(1, Math.floor(workers / Math.max(1, works.size)));
}

/**
 * Brings to the queue's head the first recipe that gains nothing by waiting. False: each that is left is
 * being answered by an evaluation under way, or would read again what is being read.
 */
export function bringForward(study: Study): boolean {
  if (setWorkers(study.input.request) === 1) return true;
  const waiting = waitingIn(study);
  if (waiting.length === 0) return true;
  const asked = askingIn(study);
  const parties = partiesOf(study, waiting);
  const next = waiting.find(({ key, weights }) =>
    weights === null ||
    (readersOf(study, weights) < parties && !asked.some(({ keys }) => keys.has(key)))
  );
  if (next === undefined) return false;
  study.queue.splice(study.queue.indexOf(next.entry), 1);
  study.queue.unshift(next.entry);
  return true;
}

/**
 * What waits in the queue and reads the very same prompts as a trial: recipes with the same weights and
 * another setting at their end. Of each, that setting's action. Where other workers are to read them
 * too, each asks its part.
 */
function besideOf(study: Study, draft: Draft): Map<string, ResolvedAction> {
  const weights = weightsOf(study, draft.trial.actions);
  if (weights === null || draft.trial.strategy === null) return new Map();
  const { input: { methods, facts } } = study;
  const asked = askingIn(study);
  const waiting = waitingIn(study);
  const same = new Map(
    waiting.filter((one) =>
      one.weights === weights && !asked.some(({ keys }) => keys.has(one.key)) &&
      checkStrategy(one.actions, methods, facts).ok
    ).map(({ key, actions }) => [key, actions.at(-1)!]),
  );
  const others = asked.filter((one) => one.weights === weights).length;
  const parties = Math.max(1, partiesOf(study, waiting) - others);
  const before = asked_before.get(study) ?? new Set();
  const fresh = [...same.keys()].filter((key) => !before.has(key));
  const left = new Set(fresh.filter((_, at) => at % parties !== 0)); // to the other workers
  return new Map([...same].filter(([key]) => !left.has(key)));
}

/** Evaluates a trial, and asks beside it what waits for the same prompts. */
export async function evaluateBeside<T>(
  study: Study,
  draft: Draft,
  evaluate: (beside: readonly ResolvedAction[]) => Promise<T>,
): Promise<T> {
  const beside = besideOf(study, draft);
  const weights = weightsOf(study, draft.trial.actions);
  const asking = asking_now.get(study) ?? new Set();
  asking_now.set(study, asking);
  const own = weights === null ? null : { weights, keys: new Set(beside.keys()) };
  if (own !== null) asking.add(own);
  asked_before.set(study, (asked_before.get(study) ?? new Set()).union(new Set(beside.keys())));
  try {
    return await evaluate([...beside.values()]);
  } finally {
    if (own !== null) asking.delete(own);
  }
}
