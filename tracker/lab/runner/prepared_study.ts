import type {
  Asking,
  CallOptions,
  CarbonIntensity,
  CpuPower,
  DataKind,
  ModelFacts,
  RunNeeds,
  SampleSelection,
  Spec,
  StudyWindows,
  WireTask,
} from "../../../core/mod.ts";
import type { PreparedWindows } from "./study_windows.ts";

/** The samples of one rung. */
export interface PreparedRung {
  readonly fidelity: string;
  readonly selections: readonly SampleSelection[];
}

/** What a study has ready before its first trial. */
export interface PreparedStudy {
  readonly study_id: string;
  readonly spec: Spec;
  /** The uncompressed model's. */
  readonly model: ModelFacts;
  readonly tasks: readonly WireTask[];
  /** The samples of each rung, cheapest first; every rung holds those of the one before it. */
  readonly rungs: readonly PreparedRung[];
  /** The text that methods work on; null: none was made of that kind. */
  readonly windows: Readonly<Record<DataKind, PreparedWindows | null>>;
  /** How much of it there is; knobs take no more. */
  readonly counts: StudyWindows;
  readonly seed: number;
  /** What energy is estimated and CO2 reckoned with; null where an old study does not say. */
  readonly device: "cpu" | "cuda";
  readonly cpu_power: CpuPower | null;
  readonly carbon_intensity: CarbonIntensity | null;
  /** What was asked of its calls. */
  readonly options: CallOptions;
  /** How its model is asked. */
  readonly asks: Asking;
  readonly needs: RunNeeds;
  /** Trials that may be under way at once. */
  readonly workers: number;
}
