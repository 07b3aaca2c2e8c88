/** A world in which pruning costs most answers until something has trained after it. */
import { defineMethod, defineSampler, type Method, type ResolvedAction } from "../../core/mod.ts";
import { methods, thin, tune } from "./spec_fixtures.ts";
import { run, world } from "./study_world.ts";

const agent = "shrinking";

/** Trains what pruning has left. */
const heal: Method = defineMethod({
  ...thin,
  name: "heal",
  knobs: {},
  order: {
    effect: "trains",
    follows: ["trains", "prunes"],
    precedes: ["trains", "prunes", "rounds"],
    reason: "it trains floats",
  },
});
const prunable: Method = defineMethod({
  ...thin,
  order: { ...thin.order, precedes: ["trains", "rounds"] },
});
const all = [...methods, { agent, method: heal }, { agent, method: prunable }];
const chain = (...names: string[]) => ({
  actions: names.map((method) => ({
    agent,
    method,
    params: method === tune.name ? { bits: 8 } : {},
  })),
});

/** Pruning costs most answers until something has trained after it. */
function lossOf(_bits: number, actions: readonly ResolvedAction[]): number {
  const names = actions.map(({ method }) => method);
  return names.includes("thin") && !names.includes("heal") ? 0.6 : 0;
}

/** Seconds that a study foretells for these methods in turn, and those of its proxy. */
export async function foretold(asked: boolean, ...names: string[]) {
  const told: (number | null)[] = [];
  const w = world(asked ? { gate_actions: true } : {}, { methods: all });
  const asks = defineSampler({
    name: "asks",
    summary: "Asks how long the recipe would take, and proposes nothing",
    propose(context) {
      told.push(context.predictSeconds(chain(...names).actions));
      return null;
    },
  });
  const { trials } = await run(w, { samplers: [asks] });
  const proxy = trials[0]!.spans.find(({ phase }) => phase === "proxy")!.seconds;
  return { seconds: told[0]!, proxy };
}

/** One recipe of these methods in turn, gated after each action where that is asked. */
export async function chained(asked: boolean, ...names: string[]) {
  const w = world(
    { strategies: [chain(...names)], max_trials: 1, ...(asked ? { gate_actions: true } : {}) },
    { loss: lossOf, methods: all },
  );
  const { trials } = await run(w, { samplers: [] });
  const trial = trials.find(({ strategy }) => strategy?.origin.sampler === "user") ?? trials[1]!;
  return { w, trial };
}
