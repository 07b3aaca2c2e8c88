import { z } from "zod";
import { Artifact } from "./artifact.ts";
import { Facts } from "./facts.ts";
import { RunImported } from "./imported.ts";
import { Measurement } from "./measurement.ts";
import { StudyRequest } from "./request.ts";
import { Spec } from "./spec.ts";
import { Strategy } from "./action.ts";
import { Trial } from "./trial.ts";

/** Where a study was run: what a reader needs to run it again. */
export const Provenance = z.strictObject({
  command: z.string(),
  code_commit: z.string().nullable(),
  pare_version: z.string(),
  environments: z.record(z.string(), z.string()).describe("environment: hash of its pins"),
  model_revision: z.string().nullable(),
});
export type Provenance = z.infer<typeof Provenance>;

/** One turn of the loop. */
export const Episode = z.strictObject({
  study_id: z.string(),
  number: z.int(),
  trial_id: z.string().nullable(),
  sampler: z.string(),
  mode: z.enum(["seed", "exploit", "explore", "user"]),
  hypervolume: z.number().nullable(),
  front: z.array(z.string()),
  refused: z.array(z.strictObject({ strategy: z.string(), reason: z.string() })),
});
export type Episode = z.infer<typeof Episode>;

export const StopReason = z.enum([
  "budget",
  "gpu_hours",
  "max_trials",
  "target",
  "converged",
  "exhausted", // the samplers have nothing left to try
  "cancelled",
  "failed",
]);
export type StopReason = z.infer<typeof StopReason>;

/** What the journal keeps, in order; DuckDB is built from it. `at` is ISO 8601. */
export const JournalRecord = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("study_opened"),
    at: z.string(),
    study_id: z.string(),
    request: StudyRequest,
    facts: Facts,
    spec: Spec,
    provenance: Provenance,
  }),
  z.strictObject({ type: z.literal("study_resumed"), at: z.string(), study_id: z.string() }),
  z.strictObject({
    type: z.literal("trial_opened"),
    at: z.string(),
    study_id: z.string(),
    trial_id: z.string(),
    number: z.int(),
    strategy: Strategy.nullable(),
  }),
  z.strictObject({
    type: z.literal("artifact_written"),
    at: z.string(),
    study_id: z.string(),
    trial_id: z.string(),
    artifact: Artifact,
    cached: z.boolean().describe("found by its action key, not made"),
  }),
  z.strictObject({
    type: z.literal("samples_written"),
    at: z.string(),
    study_id: z.string(),
    trial_id: z.string(),
    fidelity: z.enum(["proxy", "full"]),
    path: z.string().describe("relative to the store"),
    rows: z.int(),
    sha256: z.string(),
    protocol: z.record(z.string(), z.string()).optional().describe(
      "task: hash of its protocol; a resumed study compares under equal ones only",
    ),
  }),
  z.strictObject({
    type: z.literal("measured"),
    at: z.string(),
    study_id: z.string(),
    trial_id: z.string(),
    measurements: z.array(Measurement),
  }),
  z.strictObject({
    type: z.literal("alert"),
    at: z.string(),
    study_id: z.string(),
    trial_id: z.string().nullable(),
    condition: z.string(),
    evidence: z.string(),
    action: z.string(),
  }),
  z.strictObject({
    type: z.literal("resources"),
    at: z.string(),
    study_id: z.string(),
    trial_id: z.string(),
    seconds: z.number().describe("since the stage started"),
    stage: z.string(),
    rss_bytes: z.int(),
    cpu_utilisation: z.number().describe("1 = one core busy"),
    free_memory_bytes: z.int(),
    gpu_memory_bytes: z.int().nullable(),
    gpu_utilisation: z.number().nullable(),
    power_watts: z.number().nullable(),
  }),
  z.strictObject({ type: z.literal("trial_closed"), at: z.string(), trial: Trial }),
  z.strictObject({ type: z.literal("episode_closed"), at: z.string(), episode: Episode }),
  z.strictObject({
    type: z.literal("study_closed"),
    at: z.string(),
    study_id: z.string(),
    stop: StopReason,
    message: z.string(),
    recommended: z.string().nullable().describe("trial id"),
  }),
  RunImported,
]);
export type JournalRecord = z.infer<typeof JournalRecord>;
