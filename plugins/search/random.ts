import { defineSampler, recoveryOf, untried, usableMethods } from "../../core/mod.ts";
import { explore } from "./_explore.ts";

/**
 * Random search: every supported method equally likely, every knob drawn from its whole range, but that
 * what an agent declares to win back lost quality comes first. The rival that any other sampler has to
 * beat at the budgets of a study.
 */
export default defineSampler({
  name: "random",
  summary: "Draws methods and knobs at random, never the same recipe twice",
  propose(context) {
    const methods = usableMethods(context);
    const admissible = untried(context);
    const recovery = recoveryOf(context, admissible);
    if (recovery !== null) return recovery;
    const actions = explore(context, methods, admissible, {
      weight: () => 1,
      worthwhile: () => true,
    });
    if (actions === null) return null;
    return { actions, origin: { mode: "explore", reason: "drawn at random" } };
  },
});
