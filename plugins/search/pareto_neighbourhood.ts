import {
  type Action,
  type AgentMethod,
  type Answer,
  defineSampler,
  recoveryOf,
  type SearchContext,
  stillFits,
  type Trial,
  trialName,
  untried,
  usableMethods,
} from "../../core/mod.ts";
import { nearWhatHeld } from "./_descent.ts";
import { explore } from "./_explore.ts";
import { type Move, neighbours, nextMoves } from "./_neighbours.ts";

/** Chance of exploring after n recipes: DECAY^n, never under FLOOR. */
const DECAY = 0.9;
const FLOOR = 0.1;

type Proposal = Answer | null;
type Admissible = (actions: readonly Action[]) => boolean;

function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)]!;
}

/**
 * Front members in random order, the better ones sooner: a draw weighted by 1/rank, repeated. What
 * a gate ended stands behind them: a step away from a bad recipe is seldom a good one.
 */
function parents({ front, trials, random }: SearchContext): Trial[] {
  const members = front.flatMap((id) => trials.filter((trial) => trial.trial_id === id));
  const stopped = trials.filter(({ state }) => state === "stopped").reverse();
  const left = members.filter((trial) => trial.actions.length > 0);
  const drawn: Trial[] = [];
  while (left.length > 0) {
    let ticket = random() * left.reduce((sum, _, rank) => sum + 1 / (rank + 1), 0);
    const at = left.findIndex((_, rank) => (ticket -= 1 / (rank + 1)) < 0);
    drawn.push(...left.splice(at < 0 ? left.length - 1 : at, 1));
  }
  return [...drawn, ...stopped.filter((trial) => trial.actions.length > 0)];
}

/** One move from a member of the front: first the kind of move is drawn, then the move. */
function exploit(
  context: SearchContext,
  methods: readonly AgentMethod[],
  admissible: Admissible,
): Proposal {
  for (const parent of parents(context)) {
    if (!parent.actions.every((action) => stillFits(action, methods))) continue;
    const lost = parent.state === "stopped";
    const moves = (lost
      ? nextMoves(parent.actions, methods, context.facts, "lost")
      : neighbours(parent.actions, methods, context))
      .filter((move) =>
        admissible(move.actions)
      );
    const kinds: Move["kind"][] = [...new Set(moves.map((move) => move.kind))];
    if (kinds.length === 0) continue;
    const kind = pick(kinds, context.random);
    const move = pick(moves.filter((one) => one.kind === kind), context.random);
    const from = trialName(parent.number);
    const where = lost ? "which lost too much" : "on the front";
    const reason = `one move from ${from} ${where}: ${move.change}`;
    return { actions: move.actions, origin: { mode: "exploit", reason } };
  }
  return null;
}

/** Trials of recipes; one that a kill cancelled has its turn again, so that the same seed proposes the same. */
function recipesOf({ trials }: SearchContext): Trial[] {
  return trials.filter(({ state, strategy }) => state !== "cancelled" && strategy !== null);
}

/** How often each method was tried, in any outcome. */
function timesTried(trials: readonly Trial[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const trial of trials) {
    const actions = trial.strategy?.actions ?? trial.actions;
    for (const name of new Set(actions.map(({ method }) => method))) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

function exploreProposal(
  context: SearchContext,
  methods: readonly AgentMethod[],
  admissible: Admissible,
): Proposal {
  const tried = timesTried(recipesOf(context));
  const near = nearWhatHeld(context, methods);
  const actions = explore(context, methods, admissible, {
    weight: ({ method }) => 1 / (1 + (tried.get(method.name) ?? 0)),
    worthwhile: near,
  });
  if (actions === null) return null;
  const count = tried.get(actions[0]!.method) ?? 0;
  const reason = `a recipe drawn anew; ${actions[0]!.method} was tried ${count} times before`;
  return { actions, origin: { mode: "explore", reason } };
}

/**
 * First what an agent declares to win back what the latest recipes lost. Then it exploits the front's
 * neighbourhood, or explores: a move from a front member changes one knob by
 * one step, adds or removes the embedding's action, swaps the method at the same bits, or is what
 * the method itself would try next; from a recipe that lost too much only that is tried, and only
 * where the front leaves nothing. The chance of exploring falls with the recipes tried, and drawing
 * favours methods seldom tried and stays within one width of the fewest bits that have held.
 */
export default defineSampler({
  name: "pareto_neighbourhood",
  summary: "Moves one step from the front, or draws a new recipe, less often as trials add up",
  propose(context) {
    const methods = usableMethods(context);
    const admissible = untried(context);
    const recovery = recoveryOf(context, admissible);
    if (recovery !== null) return recovery;
    const recipes = recipesOf(context).length;
    const exploring = context.random() < Math.max(FLOOR, DECAY ** recipes);
    return exploring
      ? exploreProposal(context, methods, admissible) ?? exploit(context, methods, admissible)
      : exploit(context, methods, admissible) ?? exploreProposal(context, methods, admissible);
  },
});
