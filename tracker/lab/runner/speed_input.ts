import type { Artifact, SampleResult } from "../../../core/mod.ts";
import type { PreparedStudy } from "./prepared_study.ts";
import type { CallRunner } from "./call_runner.ts";
import type { Workshop } from "./workshop.ts";

/** What speed, proof and score in a study's runtime are measured of. */
export interface SpeedInput {
  readonly workshop: Workshop;
  readonly study: PreparedStudy;
  readonly runner: CallRunner;
  readonly trial_id: string;
  readonly artifact: Artifact;
  readonly baseline: Artifact | null;
  /** The first rung's samples as they were evaluated; empty where they are not known. */
  readonly evaluated: readonly SampleResult[];
}
