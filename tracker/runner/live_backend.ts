import type {
  Artifact,
  Backend,
  Evaluation,
  Outcome,
  ResolvedAction,
  Speed,
} from "../../core/mod.ts";
import { applyAction } from "./apply_action.ts";
import { evaluateArtifact } from "./evaluate_artifact.ts";
import { measureSpeed } from "./measure_speed.ts";
import type { PreparedStudy } from "./prepared_study.ts";
import type { StageRunner } from "./stage_runner.ts";
import type { Workshop } from "./workshop.ts";

/** The loop's backend on real processes: every call is one stage or a few. */
export function createLiveBackend(
  workshop: Workshop,
  study: PreparedStudy,
  runner: StageRunner,
): Backend {
  let first: { artifact_id: string; samples: Evaluation["samples"] } | null = null;
  return {
    apply: (trial_id: string, parent: Artifact, action: ResolvedAction) =>
      applyAction({ workshop, study, runner, trial_id, parent, action }),
    async evaluate(trial_id, artifact, fidelity, stage): Promise<Outcome<Evaluation>> {
      const input = { workshop, study, runner, trial_id, artifact, fidelity, stage };
      const evaluated = await evaluateArtifact(input);
      // A full evaluation after the proxy answers more than the runtime is asked again.
      if (evaluated.ok && (fidelity === "proxy" || first?.artifact_id !== artifact.artifact_id)) {
        first = { artifact_id: artifact.artifact_id, samples: evaluated.value.samples };
      }
      return evaluated;
    },
    speed: (trial_id, artifact, baseline): Promise<Outcome<Speed>> =>
      measureSpeed({
        workshop,
        study,
        runner,
        trial_id,
        artifact,
        baseline,
        evaluated: first?.artifact_id === artifact.artifact_id ? first.samples : [],
      }),
  };
}
