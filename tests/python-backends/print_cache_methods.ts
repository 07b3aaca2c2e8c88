/** Prints what every method of the cache proposes for a tiny model, and what it says it keeps. */
import { type Boldness, resolveAction } from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_facts.ts";

const small = smallFacts();
const facts = { ...small, model: { ...small.model, context_length: 256 } };
const BOLDNESS: readonly Boldness[] = ["conservative", "balanced", "aggressive"];

const { methods } = await discoverPlugins([]);
const proposed = methods.filter(({ method }) => method.order.effect === "caches")
  .flatMap(({ agent, method }) =>
    BOLDNESS.map((boldness) => {
      const asked = { agent, method: method.name, params: { ...method.seed(boldness, facts) } };
      const { params } = resolveAction(asked, [{ agent, method }], facts);
      const { cache } = method.leaves(params, facts).model;
      return { method: method.name, params, environment: method.needs.environment, ...cache };
    })
  );
console.log(JSON.stringify(proposed));
