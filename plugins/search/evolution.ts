import { defineSampler, proposeBy } from "../../core/mod.ts";
import { nsga2 } from "./_nsga2.ts";

/** Evolution: crosses and mutates the fittest recipes. */
export default defineSampler({
  name: "evolution",
  summary: "Crosses and changes the fittest recipes so far (NSGA-II with a population of 20)",
  propose: (context) => proposeBy(context, nsga2),
});
