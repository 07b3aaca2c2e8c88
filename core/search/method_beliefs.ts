import { normal } from "../random.ts";
import type { BeliefHistory } from "../contract/plugin.ts";
import type { FailureKind } from "../schemas/failure.ts";
import type { EarlierTrial, MethodBelief } from "../schemas/proposal.ts";
import { similarityTo } from "../strategies/earlier_strategies.ts";
import { usableMethods } from "../strategies/untried.ts";

/** A trial as far as a belief weighs it. */
interface Judged {
  readonly methods: readonly { agent: string; method: string }[];
  /** Null: it was ended for what it is, and loses to everything. */
  readonly reward: number | null;
}

/** Weight that all trials of earlier studies have together in the belief of one method, at most. */
const MOST_OF_EARLIER = 2;
/** What a trial of an earlier study counts, besides its likeness. */
const EARLIER = 0.5;
/** The machine's own failures, and ends that somebody else chose: they say nothing of a recipe. */
const NO_VERDICT: ReadonlySet<FailureKind> = new Set([
  "crash",
  "stall",
  "disk_full",
  "cancelled",
  "missing_environment",
  "out_of_memory",
  "endpoint",
]);

interface Ended {
  readonly state: string;
  readonly reward: number | null;
  readonly failure: FailureKind | null;
}

/** Its reward; null: it was ended for what it is; undefined: it says nothing. */
function verdictOf({ state, reward, failure }: Ended): number | null | undefined {
  if (state === "completed") {
    return reward === null || !Number.isFinite(reward) ? undefined : reward;
  }
  if (state === "running" || state === "cancelled") return undefined;
  return failure !== null && NO_VERDICT.has(failure) ? undefined : null;
}

/**
 * The reward of a trial as a share of wins: how many of the other trials it beats, ties half. One that
 * was ended for what it is has none; a trial without others to beat has half.
 */
function winsOf(one: Judged, all: readonly Judged[]): number {
  if (one.reward === null) return 0;
  const others = all.filter((other) => other !== one);
  if (others.length === 0) return 0.5;
  const won = others.reduce((sum, { reward }) => {
    if (reward === null || reward < one.reward!) return sum + 1;
    return reward === one.reward ? sum + 0.5 : sum;
  }, 0);
  return won / others.length;
}

/** One of each method of a recipe. */
function methodsOf(actions: readonly { agent: string; method: string }[]): Judged["methods"] {
  return [...new Map(actions.map((one) => [`${one.agent}/${one.method}`, one])).values()];
}

/** Wins and losses by method, each trial's shared among the methods of its recipe. */
function tally(judged: readonly Judged[], all = judged) {
  const found = new Map<string, { won: number; lost: number; trials: number }>();
  for (const one of judged) {
    const wins = winsOf(one, all);
    for (const { agent, method } of one.methods) {
      const name = `${agent}/${method}`;
      const { won, lost, trials } = found.get(name) ?? { won: 0, lost: 0, trials: 0 };
      const share = 1 / one.methods.length;
      found.set(name, {
        won: won + share * wins,
        lost: lost + share * (1 - wins),
        trials: trials + 1,
      });
    }
  }
  return found;
}

/** Trials of earlier studies, each among those of its own study, by how alike that study is. */
function earlierWins({ earlier, spec, facts }: BeliefHistory) {
  const found = new Map<string, { won: number; lost: number }>();
  for (const trials of Map.groupBy(earlier, ({ study_id }) => study_id).values()) {
    const judged = trials.flatMap((trial) => judgedEarlier(trial));
    const weight = EARLIER * similarityTo(trials[0]!, spec, facts);
    for (const [name, { won, lost }] of tally(judged)) {
      const before = found.get(name) ?? { won: 0, lost: 0 };
      found.set(name, { won: before.won + weight * won, lost: before.lost + weight * lost });
    }
  }
  return found;
}

function judgedEarlier({ actions, state, reward, failure_kind }: EarlierTrial): Judged[] {
  const verdict = verdictOf({ state, reward, failure: failure_kind });
  return verdict === undefined || actions.length === 0
    ? []
    : [{ methods: methodsOf(actions), reward: verdict }];
}

/**
 * What the history says of every method that the study may use: Beta(α, β) of the probability that a
 * recipe with it does better than another trial of the study.
 *
 * How a reward moves it: a trial's reward counts as w, the share of the study's other trials, the
 * baseline among them, whose reward it exceeds (ties half); a trial that a gate ended, or that failed by
 * itself, has w = 0; what the machine failed, or somebody cancelled, moves nothing. Every method of
 * the recipe gets α += w/k and β += (1 − w)/k, k the number of its methods. It starts from Beta(1, 1)
 * and, where earlier studies of the architecture are known, from their trials, judged alike among
 * themselves, times half their likeness and no more than two trials' weight in all. It is computed
 * anew from the whole history, as a later trial changes what an earlier one has beaten.
 */
export function methodBeliefs(history: BeliefHistory): MethodBelief[] {
  const { trials } = history;
  const judged = trials.flatMap((trial): Judged[] => {
    const { state, reward, failure, strategy } = trial;
    const verdict = verdictOf({
      state,
      reward: reward?.value ?? null,
      failure: failure?.kind ?? null,
    });
    if (verdict === undefined) return [];
    const actions = trial.actions.length > 0 ? trial.actions : strategy?.actions ?? [];
    return [{ methods: methodsOf(actions), reward: verdict }];
  });
  const own = tally(judged);
  const before = earlierWins(history);
  return usableMethods(history).map(({ agent, method: { name: method } }) => {
    const { won, lost, trials } = own.get(`${agent}/${method}`) ?? { won: 0, lost: 0, trials: 0 };
    const known = before.get(`${agent}/${method}`) ?? { won: 0, lost: 0 };
    const weight = known.won + known.lost;
    const scale = weight > MOST_OF_EARLIER ? MOST_OF_EARLIER / weight : 1;
    return {
      agent,
      method,
      trials,
      alpha: 1 + scale * known.won + won,
      beta: 1 + scale * known.lost + lost,
    };
  });
}

/** Mean and standard deviation of a belief. */
export function beliefMoments({ alpha, beta }: Pick<MethodBelief, "alpha" | "beta">) {
  const n = alpha + beta;
  return { mean: alpha / n, deviation: Math.sqrt(alpha * beta / (n * n * (n + 1))) };
}

/** A number of Gamma(shape, 1), shape at least 1: Marsaglia and Tsang (2000). */
function gamma(shape: number, random: () => number): number {
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v <= 0) continue;
    if (Math.log(1 - random()) < x * x / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** A number drawn from a belief, whose parameters are at least 1. */
export function drawBelief(
  { alpha, beta }: Pick<MethodBelief, "alpha" | "beta">,
  random: () => number,
): number {
  const [a, b] = [gamma(alpha, random), gamma(beta, random)];
  return a / (a + b);
}
