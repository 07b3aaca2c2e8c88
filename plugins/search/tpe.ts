import { defineSampler, proposeBy, tpe } from "../../core/mod.ts";

/**
 * Tree-structured Parzen estimator for several objectives: recipes like those of the best ranks, unlike
 * the others. What is under way counts as bad, so that two askings do not name one place.
 */
export default defineSampler({
  name: "tpe",
  summary: "Draws recipes like the good ones and unlike the others (multi-objective TPE)",
  propose: (context) => proposeBy(context, tpe),
});
