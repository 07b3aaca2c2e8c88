import { type Boldness, choice, defineMethod, type Facts, integer, real } from "../../core/mod.ts";
import { BUDGET, BY_BUDGET } from "./_cache.ts";

/** One anonymous repository has it, without a paper; `walk` with these defaults is its first form. */
export default defineMethod({
  ...BY_BUDGET,
  name: "circuitkv",
  summary:
    "Keeps keys and values of the tokens that walks back along attention come by (experimental, unpublished)",
  knobs: {
    ...BUDGET,
    sinks: { ...BUDGET.sinks, default: 4, aliases: ["sink_size"] },
    mode: choice(["expected", "walk"], {
      default: "expected",
      unit: "name",
      description: "Whether visits are the walks' exact expectation, or counted of walks drawn",
    }),
    num_walkers: integer({
      minimum: 1,
      maximum: 100_000,
      default: 100,
      unit: "walks",
      log: true,
      description: "Walks that are drawn",
      only_where: { knob: "mode", is: ["walk"] },
    }),
    num_steps: integer({
      minimum: 1,
      maximum: 200,
      default: 20,
      unit: "steps",
      log: true,
      description: "Steps of a walk at most",
      aliases: ["max_steps"],
    }),
    temperature: real({
      minimum: 0.1,
      maximum: 10,
      default: 1,
      unit: "power",
      log: true,
      description: "Attention to the power of 1 by this leads a step: above 1 it is more even",
    }),
    walk_seed: integer({
      minimum: 0,
      maximum: 1_000_000,
      default: 0,
      unit: "seed",
      description: "Draws the walks",
      only_where: { knob: "mode", is: ["walk"] },
    }),
  },
  label: (params) => [...BY_BUDGET.label(params), ...params.mode === "walk" ? ["walk"] : []],
  // What nobody has published is a daring try.
  seed: (boldness: Boldness, facts: Facts) =>
    boldness === "aggressive" ? { ...BY_BUDGET.seed(boldness, facts), mode: "expected" } : null,
});
