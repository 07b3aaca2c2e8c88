import { baselineOf, type Study } from "../../loop/study.ts";
import type { Action, ResolvedAction } from "../../schemas/action.ts";
import type { Artifact } from "../../schemas/artifact.ts";
import type { Facts } from "../../schemas/facts.ts";
import type { StageDecision } from "../../schemas/stages/decision.ts";

/** A rung of the ladder: the original, or what a stage that passed left. */
export interface Standing {
  readonly stage: string;
  readonly stage_index: number;
  /** Of the attempt that passed; of the original, the baseline's. */
  readonly trial_id: string;
  readonly actions: readonly Action[];
  readonly resolved: readonly ResolvedAction[];
  readonly artifact: Artifact;
}

/** Facts of the model that a stage meets which is applied to this rung. */
export function metBy({ artifact }: Standing, facts: Facts): Facts {
  return { ...facts, model: artifact.model ?? facts.model };
}

/** Name of what stands before any stage. */
export const ORIGINAL = "original";

/** The original, as the baseline measured it. */
export function originalOf(study: Study): Standing {
  return {
    stage: ORIGINAL,
    stage_index: -1,
    trial_id: baselineOf(study)!.trial_id, // the run begins with it
    actions: [],
    resolved: [],
    artifact: study.input.baseline,
  };
}

/** What a stage left that passed in an earlier run; null: its trial or artifact is not known. */
export function standingOf(
  study: Study,
  row: StageDecision,
  artifacts: ReadonlyMap<string, Artifact>,
): Standing | null {
  const trial = study.trials.find(({ trial_id }) => trial_id === row.trial_id);
  const artifact = artifacts.get(row.to_artifact ?? "");
  if (trial === undefined || trial.strategy === null || artifact === undefined) return null;
  const { stage, stage_index } = row;
  return {
    ...{ stage, stage_index, artifact },
    trial_id: trial.trial_id,
    actions: trial.strategy.actions,
    resolved: trial.actions,
  };
}
