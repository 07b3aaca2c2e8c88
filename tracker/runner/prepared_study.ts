import type {
  Calibration,
  CarbonIntensity,
  CpuPower,
  SampleSelection,
  Spec,
  StudyRequest,
  WireTask,
} from "../../core/mod.ts";

/** What a study has ready before its first trial. */
export interface PreparedStudy {
  readonly study_id: string;
  readonly spec: Spec;
  readonly tasks: readonly WireTask[];
  readonly proxy: readonly SampleSelection[];
  readonly full: readonly SampleSelection[];
  readonly calibration_path: string;
  readonly calibration_sha256: string;
  /** What calibration data there are; knobs take no more. */
  readonly calibration: Calibration;
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
