import { CHECKS, knownMetric } from "../metrics/metric_table.ts";
import { overAllTasks } from "../distance/distance_rows.ts";
import { bytesCrossing, recipeCacheBytes } from "../strategies/caches/cache_at.ts";
import type { Evaluation } from "../ports.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { Artifact } from "../schemas/artifact.ts";
import type { Facts } from "../schemas/facts.ts";
import { FULL } from "../schemas/fidelity.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";

/** The size that counts: bytes of the weight files on disk. */
export function sizeOf(artifact: Artifact): Measurement {
  const { unit, direction } = knownMetric("size_bytes", "metric");
  return {
    metric: "size_bytes",
    value: artifact.size_bytes,
    unit,
    direction,
    n: 1,
    standard_error: 0,
    fidelity: FULL,
    provenance: "measured",
    task: null,
    task_version: null,
    slice: null,
    runtime: null,
    numerics: null,
    device: null,
    method: artifact.weights_id === undefined
      ? "bytes of the weight files on disk"
      : `bytes of the weight files of ${artifact.weights_id} on disk, and of the setting's own file`,
  };
}

/**
 * The size that trials are compared with: 2 bytes per parameter, as the model is published. A
 * conversion to float32 holds twice as much and must not double any ratio.
 */
export function baselineSize(artifact: Artifact, { model }: Facts): Measurement {
  const size = sizeOf(artifact);
  if (artifact.size_bytes <= model.fp16_bytes) return size;
  return {
    ...size,
    value: model.fp16_bytes,
    method: `2 bytes per parameter; the files on disk hold ${artifact.size_bytes} bytes`,
  };
}

/**
 * A trial's size. A setting of the baseline needs what counts as the baseline's, whatever the user's
 * files hold, and its own file: else keeping the same weights would look like doubling them.
 */
export function trialSize(
  artifact: Artifact,
  { baseline, facts }: { baseline: Artifact; facts: Facts },
): Measurement {
  if (artifact.weights_id === undefined || artifact.weights_id !== baseline.artifact_id) {
    return sizeOf(artifact);
  }
  const weights = baselineSize(baseline, facts);
  const own = artifact.size_bytes - baseline.size_bytes;
  return {
    ...weights,
    value: weights.value + own,
    method:
      `the baseline's weights (${weights.method}), and ${own} bytes of the setting's own file`,
  };
}

/**
 * What keys and values take at the study's context, and with the weights of `size`: by formula, from the
 * config's layers and what the recipe's policy keeps. Nothing where no context was asked for.
 */
export function sizesAtContext(
  size: Measurement,
  actions: readonly ResolvedAction[],
  { spec: { context_tokens }, input: { methods, facts } }: {
    readonly spec: Pick<Spec, "context_tokens">;
    readonly input: { readonly methods: readonly AgentMethod[]; readonly facts: Facts };
  },
): Measurement[] {
  if (context_tokens === undefined) return [];
  const cache = recipeCacheBytes(actions, methods, facts, context_tokens);
  if (cache === null) return [];
  const how = `keys and values of ${context_tokens} tokens by the layers of its config`;
  const crossing = bytesCrossing(actions, methods, facts);
  const { unit, direction } = CHECKS.kv_crossing_tokens;
  return [
    ...(crossing === null ? [] : [{
      ...size,
      ...{ metric: "kv_crossing_tokens", value: crossing, unit, direction },
      method: "least length from which on keys and values take fewer bytes than the full cache's",
    }]),
    { ...size, metric: "kv_bytes_at_context", value: cache, method: how },
    {
      ...size,
      metric: "memory_bytes_at_context",
      value: size.value + cache,
      method: `${size.method}, and ${how}`,
    },
  ];
}

/** With the mean over tasks of what a cache is left with after a context; its `task` is null. */
export function withContexts(evaluation: Evaluation): Evaluation {
  const rows = evaluation.measurements.filter(({ metric, slice }) =>
    metric === "context_kv_bytes" && slice === null
  );
  if (rows.length === 0) return evaluation;
  const mean = overAllTasks("context_kv_bytes", rows.map((row) => ({ row, weight: 1 })));
  return { ...evaluation, measurements: [...evaluation.measurements, mean] };
}
