import { defineSampler, untried, usableMethods } from "../../core/mod.ts";
import { explore } from "./_explore.ts";

/**
 * Random search: every supported method equally likely, every knob drawn from its whole range. The
 * rival that any other sampler has to beat at the budgets of a study.
 */
export default defineSampler({
  name: "random",
  summary: "Draws methods and knobs at random, never the same recipe twice",
  propose(context) {
    const methods = usableMethods(context);
    const actions = explore(context, methods, untried(context), {
      weight: () => 1,
      worthwhile: () => true,
    });
    if (actions === null) return null;
    return { actions, origin: { mode: "explore", reason: "drawn at random" } };
  },
});
