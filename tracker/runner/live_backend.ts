import type {
  Artifact,
  Backend,
  CarbonIntensity,
  CpuPower,
  Evaluation,
  Failure,
  Outcome,
  ResolvedAction,
  SampleSelection,
  Span,
  Spec,
  Speed,
  StudyRequest,
  WireTask,
} from "../../core/mod.ts";
import { applyAction } from "./apply_action.ts";
import { evaluateArtifact } from "./evaluate_artifact.ts";
import { measureSpeed } from "./measure_speed.ts";
import type { StageRunner } from "./stage_runner.ts";
import type { Workshop } from "./workshop.ts";

/** What a study has ready before its first trial. */
export interface PreparedStudy {
  readonly study_id: string;
  readonly spec: Spec;
  readonly tasks: readonly WireTask[];
  readonly proxy: readonly SampleSelection[];
  readonly full: readonly SampleSelection[];
  readonly calibration_path: string;
  readonly calibration_sha256: string;
  readonly seed: number;
  /** What energy is estimated and CO2 reckoned with; null where an old study does not say. */
  readonly cpu_power: CpuPower | null;
  readonly carbon_intensity: CarbonIntensity | null;
  /** Of each answer that the store keeps. */
  readonly answer_chars: number;
  /** The user lets programs that a model writes run without a sandbox. */
  readonly allow_unsafe_code: boolean;
  /** Given where nothing is compressed. */
  readonly evaluation?: StudyRequest["evaluation"];
}

/** A failure with the spans that were spent on it. */
export function failed(failure: Failure, spans: readonly Span[]): Outcome<never> {
  return { ok: false, failure, spans: [...spans] };
}

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
    async evaluate(trial_id, artifact, fidelity): Promise<Outcome<Evaluation>> {
      const input = { workshop, study, runner, trial_id, artifact, fidelity };
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
