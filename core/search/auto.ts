import { paretoFront } from "../front/pareto.ts";
import { drawOpenPoint, nextInitial, openPoints } from "./open_points.ts";
import type { Algorithm, SearchState, SpacePoint, Suggestion } from "./space.ts";
import { mutated } from "./surrogate/candidates.ts";
import { learnedFront } from "./surrogate/learned.ts";
import { isAllowed, measuredOf, turnsTaken } from "./surrogate/objectives.ts";
import { surrogate } from "./surrogate/surrogate.ts";
import { tpe } from "./tpe/tpe.ts";

/**
 * Measured points from which on a model says more than a move from what is good: a step of somebody who knows
 * what it means is worth more than one at random.
 */
const MODELLED = { known_steps: 8, random_steps: 4 };
/** A space of so many scales and a front of so many objectives: corners draw a Gaussian process off. */
const WIDE = { scales: 10, objectives: 3 };
/** Moves that are tried before a point is drawn. */
const MOVES = 50;

function isWide({ space: { dimensions }, directions }: SearchState): boolean {
  const scales = dimensions.every(({ kind }) => kind === "real" || kind === "integer");
  return scales && dimensions.length >= WIDE.scales && directions.length >= WIDE.objectives;
}

/** What is allowed and nothing else measured dominates. */
function frontPoints(state: SearchState): SpacePoint[] {
  const good = measuredOf(state).filter(isAllowed);
  return paretoFront(good.map(({ values }) => values), state.directions)
    .map((i) => good[i]!.point);
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
  const good = frontPoints(state);
  const one = <T>(some: readonly T[]) => some[Math.floor(random() * some.length)]!;
  if (good.length > 0 && turnsTaken(state) % 2 === 0) {
    // First the kind of step: one knob has more values than there are other kinds.
    const kinds = (near?.(one(good)) ?? []).map((steps) => steps.filter(isOpen))
      .filter((steps) => steps.length > 0);
    for (let move = 0; move < MOVES; move++) {
      const point = kinds.length > 0 ? one(one(kinds)) : mutated(space, one(good), random);
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
  const enough = state.near === undefined ? MODELLED.random_steps : MODELLED.known_steps;
  if (measuredOf(state).length < Math.min(enough, state.space.dimensions.length + 1)) {
    return { algorithm: early, because: "few measured" };
  }
  if (isWide(state)) return { algorithm: tpe, because: "many scales and objectives" };
  return { algorithm: surrogate, because: "a model of all that is measured" };
}

/**
 * The algorithm that the state asks for: first the initial points, then moves and draws; a model from four
 * measured points on, or from eight where somebody knows the steps. Those problems of tests/benchmarks/search
 * that are not kept aside decided its rules.
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
