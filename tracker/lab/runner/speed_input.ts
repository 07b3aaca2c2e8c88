import type { Alone, Artifact, Runtime, SampleResult } from "../../../core/mod.ts";
import type { PreparedStudy } from "./prepared_study.ts";
import type { CallRunner } from "./call_runner.ts";
import type { Tools, Workshop } from "./workshop.ts";

/** An artifact as a form is made of it. */
export type FormSource = Pick<Artifact, "artifact_id" | "location">;

/** What a runtime's forms are made of. */
export interface FormInput {
  readonly workshop: Pick<Tools, "caches" | "environmentHash">;
  readonly runner: CallRunner;
  readonly trial_id: string;
  readonly runtime: Runtime;
  /** In which it runs weights that are all floats; undefined: its own. */
  readonly precision: string | undefined;
  readonly artifact: FormSource;
  readonly baseline: FormSource | null;
}

/** What speed, proof and score in a runtime are measured of. */
export interface SpeedInput extends FormInput {
  readonly workshop: Workshop;
  readonly artifact: Artifact;
  readonly baseline: Artifact | null;
  readonly study: PreparedStudy;
  readonly alone: Alone;
  /** The first rung's samples as they were evaluated; empty where they are not known. */
  readonly evaluated: readonly SampleResult[];
}

/** The field of a call's request that says a precision. */
export function inPrecision({ precision }: Pick<FormInput, "precision">) {
  return precision === undefined ? {} : { precision };
}
