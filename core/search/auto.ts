import { drawOpenPoint, nextInitial, openPoints } from "./open_points.ts";
import type { Algorithm, SearchState, Suggestion } from "./space.ts";
import { mutated } from "./surrogate/candidates.ts";
import { learnedFront } from "./surrogate/learned.ts";
import { isAllowed, measuredOf, turnsTaken } from "./surrogate/objectives.ts";
import { surrogate } from "./surrogate/surrogate.ts";
import { tpe } from "./tpe/tpe.ts";

/** Measured points from which on a model says more than a move from what is good. */
const MODELLED = 4;
/** A space of so many scales and a front of so many objectives: corners draw a Gaussian process off. */
const WIDE = { scales: 10, objectives: 3 };
/** Moves that are tried before a point is drawn. */
const MOVES = 50;

function isWide({ space: { dimensions }, directions }: SearchState): boolean {
  const scales = dimensions.every(({ kind }) => kind === "real" || kind === "integer");
  return scales && dimensions.length >= WIDE.scales && directions.length >= WIDE.objectives;
}

/** Before a model is any good: what an earlier study found; else every second point a move from a good one. */
function early(state: SearchState): Suggestion | null {
  const { space, random, near, worthwhile = () => true } = state;
  const isOpen = openPoints(state);
  // Every second one alone: it may mislead.
  const known = turnsTaken(state) % 2 === 0 ? learnedFront(state).find(isOpen) : undefined;
  if (known !== undefined) {
    return { point: known, mode: "exploit", reason: "on the front of an earlier study" };
  }
  const good = measuredOf(state).filter(isAllowed);
  const one = <T>(some: readonly T[]) => some[Math.floor(random() * some.length)]!;
  if (good.length > 0 && turnsTaken(state) % 2 === 0) {
    const steps = near?.(one(good).point).filter(isOpen) ?? [];
    for (let move = 0; move < MOVES; move++) {
      const point = steps.length > 0 ? one(steps) : mutated(space, one(good).point, random);
      if (isOpen(point) && worthwhile(point)) {
        return { point, mode: "exploit", reason: "a move from a point that did well" };
      }
    }
  }
  const point = drawOpenPoint(state, (point) => isOpen(point) && worthwhile(point)) ??
    drawOpenPoint(state, isOpen);
  const reason = "drawn at random: too little is measured for a model";
  return point === null ? null : { point, mode: "explore", reason };
}

/** Which algorithm a state asks for, with the reason that stands before its own. */
function chosenFor(state: SearchState): { algorithm: Algorithm; because: string } {
  if (measuredOf(state).length < Math.min(MODELLED, state.space.dimensions.length + 1)) {
    return { algorithm: early, because: "few measured" };
  }
  if (isWide(state)) return { algorithm: tpe, because: "many scales and objectives" };
  return { algorithm: surrogate, because: "a model of all that is measured" };
}

/**
 * The algorithm that the state asks for: first the initial points, then moves and draws, from four measured
 * points on a model. Its rules are decided by those problems of tests/benchmarks/search that are not kept aside.
 */
export function auto(state: SearchState): Suggestion | null {
  const initial = nextInitial(state, openPoints(state));
  if (initial !== null) {
    return { point: initial, mode: "explore", reason: "one of the points to begin with" };
  }
  const { algorithm, because } = chosenFor(state);
  const made = algorithm(state);
  return made === null ? null : { ...made, reason: `${because}: ${made.reason}` };
}
