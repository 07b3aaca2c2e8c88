import {
  type Answer,
  checkPoint,
  defineSampler,
  type Dimension,
  type FailureKind,
  fitsTime,
  recoveryOf,
  type SearchContext,
  type SearchState,
  type Seen,
  studySearch,
  type SuggestRequest,
  untried,
  usableMethods,
} from "../../core/mod.ts";

/** Points asked for at once: a worker takes a second to start, and some points cannot be. */
const POINTS = 24;
/** How often more are asked for where none of them can be. */
const ROUNDS = 3;
/** Measured points below which TPE draws at random, as it ships. */
const STARTUP = 10;

/** Ends of a worker that say nothing of the question: it is put once more. */
const DIED: ReadonlySet<FailureKind> = new Set(["crash", "stall", "out_of_memory"]);

function dimensionOf(dimension: Dimension): SuggestRequest["dimensions"][number] {
  const { name, kind, minimum = null, maximum = null, log = false, choices, when } = dimension;
  return {
    ...{ name, kind, minimum, maximum, log },
    choices: choices === undefined ? null : [...choices],
    when: when === undefined ? null : { name: when.name, values: [...when.is] },
  };
}

/** A point with the values that Optuna takes: none where one is not finite. */
function seenOf({ point, state, values, violations = [] }: Seen): SuggestRequest["seen"][number] {
  const whole = values !== null && values.every(Number.isFinite);
  const limits = violations.every(Number.isFinite) ? violations : [];
  return {
    ...{ point, state },
    values: whole ? [...values] : null,
    violations: limits.length === 0 ? null : [...limits],
  };
}

function requestOf(
  { space, directions, random }: SearchState,
  seen: readonly Seen[],
): SuggestRequest {
  return {
    // Of the study's seed, the episode and the asking, as all that is drawn.
    seed: Math.floor(random() * 2 ** 31),
    directions: [...directions],
    dimensions: space.dimensions.map(dimensionOf),
    seen: seen.map(seenOf),
    count: POINTS,
  };
}

async function suggested(context: SearchContext): Promise<Answer | null> {
  const { state, space } = studySearch(context);
  if (space.dimensions.length === 0) return null;
  const refused: Seen[] = [];
  let tooLong: Answer | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const request = requestOf(state, [...state.seen, ...refused]);
    const first = await context.suggest!(request);
    const died = !first.ok && DIED.has(first.failure.kind);
    const outcome = died ? await context.suggest!(request) : first;
    if (!outcome.ok) throw new Error(outcome.failure.message);
    for (const point of outcome.value.points) {
      if (checkPoint(space, point) === null) {
        const told = state.seen.filter(({ values }) => values !== null).length;
        const mode = told < STARTUP ? "explore" : "exploit";
        const reason = `Optuna's TPE, told of ${told} measured recipes of ${state.seen.length}`;
        const answer: Answer = { actions: space.actionsOf(point), origin: { mode, reason } };
        if (fitsTime(context, answer.actions)) return answer;
        tooLong ??= answer;
      }
      refused.push({ point, state: "infeasible", values: null });
    }
  }
  return tooLong; // so that the study says what ends it
}

/**
 * Optuna's multi-objective TPE, as it ships, over the space of the study's methods. Its worker is told
 * every earlier trial each time and keeps nothing, so that a study that goes on proposes what it would
 * have; points that cannot be are passed over before any work. As with every sampler, what an agent
 * declares to win back lost quality comes first.
 */
export default defineSampler({
  name: "optuna",
  summary: "Asks Optuna's multi-objective TPE, in an environment of its own",
  needs: { environment: "optuna" },
  async propose(context) {
    if (usableMethods(context).length === 0) return null;
    const recovery = recoveryOf(context, untried(context));
    if (recovery !== null) return recovery;
    return context.suggest === undefined ? null : await suggested(context);
  },
});
