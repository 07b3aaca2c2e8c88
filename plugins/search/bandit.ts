import {
  type Action,
  type AgentMethod,
  type Answer,
  beliefMoments,
  defineSampler,
  drawBelief,
  fitsTime,
  type MethodBelief,
  methodBeliefs,
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
import { neighbours } from "./_neighbours.ts";

/** A recipe of a method, and how it was found. */
interface Found {
  readonly actions: Action[];
  readonly mode: "explore" | "exploit";
  readonly words: string;
}
type Admissible = (actions: readonly Action[]) => boolean;

/** How often it moves from the method's best trial where there is one, in place of drawing its knobs anew. */
const FROM_BEST = 0.5;

const uses = ({ agent, method }: AgentMethod) => (actions: readonly Action[]) =>
  actions.some((one) => one.agent === agent && one.method === method.name);

/** The method's trial of the best reward that was measured to its end. */
function bestOf(entry: AgentMethod, { trials }: SearchContext): Trial | undefined {
  return trials.filter(({ state, reward, actions }) =>
    state === "completed" && reward !== null && uses(entry)(actions)
  ).sort((a, b) => b.reward!.value - a.reward!.value)[0];
}

/** A move from the method's best trial that leaves the method in the recipe. */
function fromBest(
  entry: AgentMethod,
  context: SearchContext,
  methods: readonly AgentMethod[],
  admissible: Admissible,
): Found | null {
  const best = bestOf(entry, context);
  if (best === undefined || !best.actions.every((one) => stillFits(one, methods))) return null;
  const moves = neighbours(best.actions, methods, context)
    .filter(({ actions }) => uses(entry)(actions) && admissible(actions));
  const move = moves[Math.floor(context.random() * moves.length)];
  if (move === undefined) return null;
  const from = trialName(best.number);
  const words = `one move from ${from}, its best: ${move.change}`;
  return { actions: move.actions, mode: "exploit", words };
}

/** Knobs drawn anew, near what held in this study. */
function anew(
  entry: AgentMethod,
  context: SearchContext,
  methods: readonly AgentMethod[],
  admissible: Admissible,
  thorough: boolean,
): Found | null {
  const actions = explore(
    context,
    methods,
    (one) => uses(entry)(one) && admissible(one),
    {
      weight: (one) => one === entry ? 1 : 0,
      worthwhile: nearWhatHeld(context, methods),
      thorough,
    },
  );
  if (actions === null) return null;
  return { actions, mode: "explore", words: "its knobs drawn anew, near what has held" };
}

/** Why this method: what was drawn for it, and from what. */
function why(belief: MethodBelief, draw: number, rank: number, count: number): string {
  const { mean, deviation } = beliefMoments(belief);
  const place = rank === 0 ? "the highest" : `number ${rank + 1}, those above have nothing left,`;
  return `Thompson: ${belief.method} drew ${draw.toFixed(2)}, ${place} of ${count}, of ` +
    `${mean.toFixed(2)} ± ${deviation.toFixed(2)} after ${belief.trials} ${
      belief.trials === 1 ? "trial" : "trials"
    }`;
}

/**
 * Thompson sampling over methods (Thompson, 1933): each proposal draws a number of every method's
 * belief (`methodBeliefs` has how a reward moves it) and takes the method of the highest. Its knobs are
 * then, half of the time, one move from its best trial; else drawn near what has held in the study.
 * What an agent declares to win back lost quality comes first, as with every sampler.
 */
export default defineSampler({
  name: "bandit",
  summary: "Draws the next method by how its trials did so far (Thompson sampling)",
  beliefs: methodBeliefs,
  propose(context): Answer | null {
    const methods = usableMethods(context);
    const admissible = untried(context);
    const recovery = recoveryOf(context, admissible);
    if (recovery !== null) return recovery;
    const fitting: Admissible = (actions) => admissible(actions) && fitsTime(context, actions);
    const drawn = methodBeliefs(context)
      .map((belief) => ({ belief, draw: drawBelief(belief, context.random) }))
      .sort((a, b) => b.draw - a.draw);
    // What takes too long is proposed where nothing else is left, so that the study says so.
    const tries = [{ may: fitting, thorough: false }, { may: admissible, thorough: true }]
      .flatMap((how) => [...drawn.entries()].map(([rank, one]) => ({ rank, ...how, ...one })));
    for (const { rank, may, thorough, belief, draw } of tries) {
      const entry = methods.find(({ agent, method }) =>
        agent === belief.agent && method.name === belief.method
      )!; // beliefs are of the usable methods
      const moves = context.random() < FROM_BEST;
      const found = moves
        ? fromBest(entry, context, methods, may) ?? anew(entry, context, methods, may, thorough)
        : anew(entry, context, methods, may, thorough) ?? fromBest(entry, context, methods, may);
      if (found === null) continue;
      const reason = `${why(belief, draw, rank, drawn.length)}; ${found.words}`;
      return { actions: found.actions, origin: { mode: found.mode, reason } };
    }
    return null;
  },
});
