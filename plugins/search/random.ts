import {
  type Algorithm,
  defineSampler,
  drawOpenPoint,
  nextInitial,
  openPoints,
  proposeBy,
} from "../../core/mod.ts";

/** An open point, drawn uniformly. */
export const randomSearch: Algorithm = (state) => {
  const isOpen = openPoints(state);
  const point = nextInitial(state, isOpen) ?? drawOpenPoint(state, isOpen);
  return point === null ? null : { point, mode: "explore", reason: "drawn at random" };
};

/**
 * Random search: chains of two actions on average, every method of a place equally likely, every knob
 * drawn from its whole range, but that what an agent declares to win back lost quality comes first. The
 * rival that any other sampler has to beat at the budgets of a study.
 */
export default defineSampler({
  name: "random",
  summary: "Draws methods and knobs at random, never the same recipe twice",
  propose: (context) => proposeBy(context, randomSearch),
});
