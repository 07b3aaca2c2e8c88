import {
  type Artifact,
  type Backend,
  type Evaluation,
  type Outcome,
  precisionIn,
  type ResolvedAction,
  type Speed,
} from "../../../core/mod.ts";
import { type ActionModels, applyAction, settingsBeside } from "./apply_action.ts";
import { evaluateArtifact } from "./evaluate_artifact.ts";
import { measureSpeed } from "./measure_speed.ts";
import type { PreparedStudy } from "./prepared_study.ts";
import type { CallRunner } from "./call_runner.ts";
import type { Workshop } from "./workshop.ts";

/** Samples of each artifact as it was evaluated first: what its runtime is asked again. */
export interface FirstAnswers {
  /** A later evaluation answers more than is asked again; the first fidelity stands above all. */
  keep(artifact_id: string, samples: Evaluation["samples"], isFirst: boolean): void;
  /** Empty where it was not evaluated. */
  of(artifact_id: string): Evaluation["samples"];
}

/** By artifact: a study by hand may evaluate another before the speed of the first is measured. */
export function firstAnswers(): FirstAnswers {
  const kept = new Map<string, Evaluation["samples"]>();
  return {
    keep(artifact_id, samples, isFirst) {
      if (isFirst || !kept.has(artifact_id)) kept.set(artifact_id, samples);
    },
    of: (artifact_id) => kept.get(artifact_id) ?? [],
  };
}

/** The loop's backend on real processes: every method is one call or a few. */
export function createLiveBackend(
  workshop: Workshop,
  study: PreparedStudy,
  runner: CallRunner,
  models: ActionModels,
): Backend {
  const answers = firstAnswers();
  return {
    apply: (trial_id: string, parent: Artifact, action: ResolvedAction, action_index: number) =>
      applyAction({ workshop, study, runner, trial_id, parent, action, action_index, ...models }),
    async evaluate(
      ...[trial_id, artifact, fidelity, action_index, look, asked = []]
    ): Promise<Outcome<Evaluation>> {
      const { original } = models;
      const beside = await settingsBeside(
        { workshop, study, runner, trial_id, ...models },
        artifact,
        asked,
      );
      const input = {
        workshop,
        study,
        runner,
        trial_id,
        artifact,
        fidelity,
        action_index,
        look,
        original,
        beside,
      };
      const evaluated = await evaluateArtifact(input);
      if (evaluated.ok && (look?.rows ?? null) === null) {
        const isFirst = fidelity === study.rungs[0]?.fidelity;
        answers.keep(artifact.artifact_id, evaluated.value.samples, isFirst);
      }
      return evaluated;
    },
    speed: (trial_id, artifact, baseline, runtime, alone): Promise<Outcome<Speed>> =>
      measureSpeed({
        ...{ workshop, study, runner, trial_id, artifact, baseline, alone },
        runtime: workshop.registry.runtime(runtime),
        precision: precisionIn(study.spec, runtime),
        evaluated: answers.of(artifact.artifact_id),
      }),
  };
}
