import { auto, defineSampler, proposeBy, resolveActions, usableMethods } from "../../core/mod.ts";
import { nearWhatHeld } from "./_descent.ts";
import { neighbours } from "./_neighbours.ts";
import pareto_neighbourhood from "./pareto_neighbourhood.ts";

/**
 * What a study takes that names no sampler: the core's `auto`, as it is measured, told what methods know: the next
 * steps from a recipe, and which first draws go too far below what has held. Where it has nothing left, a
 * recipe that has no place in its space may.
 */
export default defineSampler({
  name: "auto",
  summary: "Moves and draws while little is measured, then goes where models expect most",
  propose(context) {
    const methods = usableMethods(context);
    const { facts } = context;
    const held = nearWhatHeld(context, methods);
    const made = proposeBy(context, auto, ({ space }) => ({
      near: (point) => {
        const recipe = resolveActions(space.actionsOf(point), methods, facts);
        const kinds = Map.groupBy(neighbours(recipe, methods, context), ({ kind }) => kind);
        return [...kinds.values()].map((moves) =>
          moves.flatMap(({ actions }) => {
            const place = space.pointOf(resolveActions(actions, methods, facts));
            return "point" in place ? [place.point] : [];
          })
        );
      },
      worthwhile: (point) => held(space.actionsOf(point)),
    }));
    return made ?? pareto_neighbourhood.propose(context);
  },
});
