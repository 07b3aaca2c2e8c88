import type { RunRequest } from "../../schemas/request.ts";
import { defineKind, TRIALS_SHOWN } from "../run_kind.ts";
import { stagedChoice } from "./choice.ts";
import { STAGES_NEEDS } from "./needs.ts";
import { StagesPlan } from "./plan.ts";
import { runStages } from "./run_stages.ts";
import { stagesRequest } from "./stages_request.ts";

const plan = {
  stages: StagesPlan.describe("stages in their order, each gated; `pare stages`"),
};

/** Stages in their order, each gated on what it keeps of a baseline measured once. */
export const stages = defineKind("stages", plan, {
  summary: "runs stages in their order, each gated, and ships the best that passed",
  does: "runs the stages of its document",
  does_again: "runs its stages anew",
  needs: STAGES_NEEDS,
  shown: TRIALS_SHOWN,
  complete: stagesRequest,
  actions: ({ stages: { stages } }) =>
    stages.flatMap(({ actions, adjustments, attempts }) =>
      actions.map((action, i) => {
        const of = adjustments.filter((one) => one.action === i && !one.skip);
        return { action, raised: Array.from({ length: attempts - 1 }, () => of).flat() };
      })
    ),
  benchmarks: ({ stages: { core, experts, ethics, edge_of_chaos: chaos } }) => ({
    core,
    groups: [
      ...Object.entries(experts).flatMap(([domain, tasks]) =>
        tasks.map((task) => ({ name: `expert/${domain}/${task}`, tasks: [task] }))
      ),
      ...Object.entries(ethics?.rules ?? {}).map(([rule, task]) => ({
        name: `eudaimonia/${rule}`,
        tasks: [task],
      })),
      ...chaos === null
        ? []
        : [{ name: "edge_of_chaos/accuracy", tasks: chaos.benchmarks ?? core }],
    ],
  }),
  drive: (input, ports) => runStages(input, ports),
  choose: ({ stage_decisions, baseline }) => stagedChoice(stage_decisions, baseline.trial_id),
});

/** The plan of a staged run. raises: Error where the request is of another kind */
export function stagesPlan(request: RunRequest): StagesPlan {
  return stages.own(request).stages;
}
