import {
  auto,
  defineSampler,
  measuredOf,
  proposeBy,
  studySearch,
  turnsTaken,
} from "../../core/mod.ts";
import pareto_neighbourhood from "./pareto_neighbourhood.ts";

/** Measured recipes from which on models propose. */
const MODELLED = 8;
/** Every so-manieth proposal stays a move from the front: methods know things that no model has seen. */
const MOVES = 4;

/**
 * What a study takes that names no sampler. A short one moves from the front, as methods know the next
 * step from a recipe; from eight measured recipes on models of what was measured say where the
 * largest gain is expected, and every fourth proposal stays a move.
 */
export default defineSampler({
  name: "auto",
  summary: "Moves from the front while little is measured, then goes where models expect most",
  propose(context) {
    const { state } = studySearch(context);
    const modelled = measuredOf(state).length >= MODELLED;
    const byMove = !modelled || turnsTaken(state) % MOVES === 0;
    return byMove
      ? pareto_neighbourhood.propose(context)
      : proposeBy(context, auto) ?? pareto_neighbourhood.propose(context);
  },
});
