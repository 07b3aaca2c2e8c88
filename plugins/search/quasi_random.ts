import {
  type Algorithm,
  builtPoint,
  defineSampler,
  drawOpenPoint,
  HALTON_COORDINATES,
  nextInitial,
  openPoints,
  proposeBy,
  scrambledHalton,
  valueAt,
} from "../../core/mod.ts";

/** Points of the sequence that are passed over because they cannot be or were tried. */
const LOOKED_AT = 500;

/**
 * The next open point of a scrambled Halton sequence. A point's first dimension takes the first
 * coordinate, its second the next, whatever they are: a recipe with three knobs needs three coordinates,
 * and those of small bases, which spread best, decide which methods there are.
 */
export const quasiRandom: Algorithm = (state) => {
  const isOpen = openPoints(state);
  const initial = nextInitial(state, isOpen);
  if (initial !== null) return { point: initial, mode: "explore", reason: "a point to begin with" };
  const halton = scrambledHalton(state.seed ?? 0);
  for (let skipped = 0; skipped < LOOKED_AT; skipped++) {
    let coordinate = 0;
    const point = builtPoint(state.space, (dimension) => {
      const unit = coordinate < HALTON_COORDINATES
        ? halton(state.seen.length + skipped, coordinate++)
        : state.random();
      return valueAt(dimension, unit);
    });
    const reason = "the next point of a sequence that fills the space evenly";
    if (isOpen(point)) return { point, mode: "explore", reason };
  }
  const point = drawOpenPoint(state, isOpen);
  return point === null ? null : { point, mode: "explore", reason: "drawn from what is left" };
};

/** Quasi-random search: as blind as drawing at random, but it leaves no gaps and repeats nothing. */
export default defineSampler({
  name: "quasi_random",
  summary: "Spreads recipes evenly over methods and knobs, by a scrambled Halton sequence",
  propose: (context) => proposeBy(context, quasiRandom),
});
