import { defineSampler, proposeBy, surrogate } from "../../core/mod.ts";

/**
 * Bayesian optimisation: Gaussian processes over methods and knobs, and the recipe whose expected gain
 * in hypervolume is the largest. Bytes are known by formula, so only the rest is modelled.
 */
export default defineSampler({
  name: "surrogate",
  summary: "Models what recipes bring and takes the largest expected gain in hypervolume",
  propose: (context) => proposeBy(context, surrogate),
});
