import {
  type Algorithm,
  defineSampler,
  nextOfGrid,
  openPoints,
  proposeBy,
} from "../../core/mod.ts";

/** Coarse to fine: what is usual, then what differs from it in one thing, then in two, and so on. */
export const grid: Algorithm = (state) => {
  const point = nextOfGrid(state, openPoints(state));
  const reason = "the next point of a grid, coarse to fine";
  return point === null ? null : { point, mode: "explore", reason };
};

/**
 * Grid search without a mesh to choose: every method alone with its defaults, then one knob or a second
 * method beside it, then two, ranges by their ends, their middle and ever smaller parts.
 */
export default defineSampler({
  name: "grid",
  summary: "Goes through methods and knobs in order, coarse to fine, and leaves nothing to chance",
  propose: (context) => proposeBy(context, grid),
});
