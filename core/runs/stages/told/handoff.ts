import { z } from "zod";
import type { Artifact } from "../../../schemas/artifact.ts";
import type { Facts } from "../../../schemas/facts.ts";
import type { Measurement } from "../../../schemas/measurement.ts";
import type { StageDecision } from "../../../schemas/stages/decision.ts";
import type { StagesPlan } from "../plan.ts";
import type { Trial } from "../../../schemas/trial.ts";
import { countedBytes } from "../checks/artifact_checks.ts";
import { chaosOf, ethicsOf, Kept, keptOf } from "./kept.ts";
import { stageSizes } from "./sizes.ts";

const number = z.number().nullable();

/** The handoff to deployment: fields of the requirement's §8.2 by their names, and what they rest on. */
export const Handoff = z.strictObject({
  format: z.literal(1),
  study_id: z.string(),
  model: z.string().describe("directory of what is shipped"),
  artifact_id: z.string().describe("over its files' checksums: that of what was measured"),
  compression_level: z.string().describe("name of the stage, or original"),
  size_mb: z.number().describe("weight files on disk, 1e6 bytes"),
  original_size_mb: z.number().describe("at 2 bytes a weight, or fewer on disk"),
  compression_ratio: z.number(),
  benchmarks: z.record(z.string(), Kept).describe("the core"),
  expert_benchmarks: z.record(z.string(), z.record(z.string(), Kept)),
  edge_of_chaos: z.strictObject({ accuracy: number, status: z.string() }).nullable(),
  eudaimonia: z.record(z.string(), number).describe("score of each rule; null: not measured"),
  quality_gates: z.record(
    z.string(),
    z.strictObject({
      passed: z.boolean(),
      retries: z.int(),
      decision: z.string(),
      reason: z.string(),
    }),
  ),
  sizes: z.array(z.strictObject({
    stage: z.string(),
    attempt: z.int(),
    bytes: z.int(),
    formula_bytes: number,
    ratio: z.number(),
    cumulative_ratio: z.number(),
    expected_ratio: number,
    why_not: z.string().nullable(),
  })),
  not_judged: z.array(z.string()).describe("checks that could not be made, and why"),
  ready_for_edge_deployment: z.boolean(),
  not_ready_because: z.array(z.string()),
  recommended_hardware: z.string(),
  inference_latency_estimate_ms: number.describe(
    "a token: the baseline's by the ratio of bytes, as if memory alone limited it",
  ),
  inference_latency_measured_ms: number.describe("a token, in the study's runtime on this machine"),
});
export type Handoff = z.infer<typeof Handoff>;

/** What a handoff is written from. */
export interface HandoffInput {
  readonly study_id: string;
  readonly plan: StagesPlan;
  readonly ledger: readonly StageDecision[];
  readonly trials: readonly Trial[];
  readonly artifacts: ReadonlyMap<string, Artifact>;
  readonly facts: Facts;
}

const MB = 1e6;

function figure(trial: Trial | undefined, metric: string): Measurement | undefined {
  return trial?.measurements.findLast((row) => row.metric === metric && row.task === null);
}

/** Every stage, with how often it was tried again and what came of it; not_tried: it had no turn. */
function gatesOf(
  ledger: readonly StageDecision[],
  { stages }: StagesPlan,
): Handoff["quality_gates"] {
  const attempts = ledger.filter(({ about }) => about === "attempt");
  const ended = attempts.at(-1);
  const why = ended === undefined
    ? "the run ended before its first attempt"
    : `the run ended at ${ended.stage}: ${ended.decision.replace("_", " ")}`;
  return Object.fromEntries(stages.map(({ name }, index) => {
    const last = attempts.findLast(({ stage_index }) => stage_index === index);
    if (last === undefined) {
      return [name, { passed: false, retries: 0, decision: "not_tried", reason: why }];
    }
    const { attempt, decision, reason } = last;
    return [name, { passed: decision === "advance", retries: attempt - 1, decision, reason }];
  }));
}

function hardwareOf(
  trial: Trial | undefined,
  bytes: number,
  emulated: boolean,
): string {
  const memory = figure(trial, "memory_bytes")?.value;
  const decoded = emulated
    ? "; its codes are decoded when it is loaded, so that it takes the memory of floats"
    : "";
  if (memory === undefined) {
    return `memory was not measured; the weights alone are ${
      (bytes / MB).toFixed(1)
    } MB on disk${decoded}`;
  }
  return `at least ${(1.25 * memory / 1e9).toFixed(2)} GB of free memory: ${
    (memory / MB).toFixed(0)
  } MB ` +
    `were measured, and a quarter as much is left for a longer context${decoded}`;
}

/** Why what is shipped is not ready; empty: it is. */
function faultsOf(ledger: readonly StageDecision[], shipped: StageDecision): string[] {
  const minimum = ledger.find(({ about, subject }) => about === "level" && subject === "minimum");
  return [
    ...shipped.stage_index < 0 ? [`it is the original: ${shipped.reason}`] : [],
    ...minimum?.decision === "failed" ? [minimum.reason] : [],
  ];
}

/** The handoff of a run that has shipped; null: it has not. */
export function handoffOf(input: HandoffInput): Handoff | null {
  const { ledger, plan, trials, artifacts, facts } = input;
  const shipped = ledger.find(({ decision }) => decision === "ship");
  const artifact = artifacts.get(shipped?.to_artifact ?? "");
  if (shipped === undefined || artifact === undefined) return null;
  const trial = trials.find(({ trial_id }) => trial_id === shipped.trial_id);
  const baseline = trials.find(({ strategy }) => strategy === null);
  const bytes = countedBytes(artifact, facts);
  const original = Math.min(
    facts.model.fp16_bytes,
    artifacts.get(baseline?.artifact_ids[0] ?? "")?.size_bytes ?? Infinity,
  );
  const looked = { plan, ledger, trial, baseline };
  const faults = faultsOf(ledger, shipped);
  const before = figure(baseline, "latency_ms")?.value;
  const emulated = artifact.changes?.some(({ no_faster }) => no_faster !== undefined) ?? false;
  return Handoff.parse({
    format: 1,
    study_id: input.study_id,
    model: artifact.location,
    artifact_id: artifact.artifact_id,
    compression_level: shipped.stage,
    size_mb: bytes / MB,
    original_size_mb: original / MB,
    compression_ratio: original / bytes,
    benchmarks: Object.fromEntries(plan.core.map((name) => [name, keptOf(looked, name)])),
    expert_benchmarks: Object.fromEntries(
      Object.entries(plan.experts).map(([domain, names]) => [
        domain,
        Object.fromEntries(names.map((name) => [name, keptOf(looked, name, domain)])),
      ]),
    ),
    edge_of_chaos: chaosOf(looked),
    eudaimonia: ethicsOf(looked),
    quality_gates: gatesOf(ledger, plan),
    sizes: stageSizes(ledger, plan, artifacts, facts).map((
      { artifact_id: _, expected_bytes: __, passed: ___, ...size },
    ) => size),
    not_judged: [
      ...new Set(
        ledger.filter(({ decision }) => decision === "not_applicable").map(({ reason }) => reason),
      ),
    ],
    ready_for_edge_deployment: faults.length === 0,
    not_ready_because: faults,
    recommended_hardware: hardwareOf(trial, bytes, emulated),
    inference_latency_estimate_ms: before === undefined ? null : before * bytes / original,
    inference_latency_measured_ms: figure(trial, "latency_ms")?.value ?? null,
  });
}
