import { recommend } from "../../advice/recommend.ts";
import type { Facts } from "../../schemas/facts.ts";
import type { RunRequest } from "../../schemas/request.ts";
import type { Spec } from "../../schemas/spec.ts";
import { inferSpec, type SpecPlugins } from "../../spec/infer_spec.ts";
import { checkHeldAtAll } from "../../strategies/held_methods.ts";
import type { AgentMethod } from "../../strategies/resolve_action.ts";
import { defineKind, TRIALS_SHOWN } from "../run_kind.ts";
import { cacheMethod, cellsOf, namedCells, namedMethod } from "./cells.ts";
import { SWEEP_NEEDS } from "./needs.ts";
import { SweepPlan, sweptMethods } from "./plan.ts";
import { openSweep, runSweep } from "./run_sweep.ts";

/** What an answer about caches is told in, where the document asks for no other front. */
const COSTS = {
  metrics: ["context_kv_bytes"],
  reason: "a sweep asks what quality a smaller cache costs",
};

const plan = { sweep: SweepPlan.describe("methods of the cache by budgets; `pare sweep`") };

/** Cache policies by budgets, each on the same prompts, which are read once for all of them. */
export const sweep = defineKind("sweep", plan, {
  summary:
    "crosses methods of the cache with budgets, on prompts that are read once for all of them",
  does: "runs the cells of its document",
  does_again: "runs its cells anew",
  needs: SWEEP_NEEDS,
  shown: TRIALS_SHOWN,
  spec: (request, facts, plugins) => sweepSpec(request, request.sweep, facts, plugins),
  actions: ({ sweep }, methods, reads) => asked(sweep, methods, reads),
  recipes: ({ sweep }, facts, methods) => cellsOf(sweep, methods, facts),
  open: (input, ports) => openSweep(input, input.request.sweep, ports),
  drive: (input, ports) => runSweep(input, input.request.sweep, ports),
  choose: recommend,
});

function asked(plan: SweepPlan, methods?: readonly AgentMethod[], reads?: number) {
  const named = methods === undefined
    ? sweptMethods(plan).map((word) => ({ ...namedMethod(word), params: {} }))
    : namedCells(plan, methods, reads);
  return [...plan.weights.flat(), ...named].map((action) => ({ action, raised: [] }));
}

/** Its cells are checked before anything is written. */
function sweepSpec(
  request: RunRequest,
  cells: SweepPlan,
  facts: Facts,
  plugins: SpecPlugins,
): Spec {
  cellsOf(cells, plugins.methods, facts);
  const entries = sweptMethods(cells).map((word) => cacheMethod(word, plugins.methods));
  const able = plugins.runtimes.filter((one) =>
    entries.every((entry) => checkHeldAtAll(one, entry, facts).ok)
  );
  const runtimes = request.runtime === undefined ? able : plugins.runtimes;
  const plan = { actions: asked(cells), counts_caches: true, costs: COSTS };
  return inferSpec(request, facts, { ...plugins, runtimes }, plan);
}
