import type { Facts } from "../schemas/facts.ts";
import { freeMemoryGb } from "../strategies/compatibility.ts";

/** Tokens of the longest sequence that an evaluation is expected to hold, all batches together. */
const TOKENS = 8 * 512;
/** A process with the libraries imported and no model: 0.39 GB measured, rounded up. */
const PROCESS_GB = 0.5;

/**
 * Gigabytes to run the uncompressed model, which every study does for its baseline:
 *
 *   weights      parameters × b           b = 4 bytes on a CPU (fp32), 2 on a GPU (fp16)
 *   KV cache     2 × layers × kv_heads × head_dim × tokens × b
 *   logits       vocabulary × tokens × 4
 *   activations  4 × (hidden + intermediate) × tokens × b
 *   process      0.5 GB
 *
 * for 8 sequences of 512 tokens. A method's own need is its `estimateMemory`.
 */
export function requiredMemoryGb({ model, device }: Facts): number {
  const bytes = device.device === "cpu" ? 4 : 2;
  const head = model.head_dim ?? model.hidden_size / Math.max(1, model.heads);
  const weights = model.parameters * bytes;
  const cache = 2 * model.layers * model.kv_heads * head * TOKENS * bytes;
  const logits = model.vocabulary * TOKENS * 4;
  const activations = 4 * (model.hidden_size + model.intermediate_size) * TOKENS * bytes;
  return (weights + cache + logits + activations) / 1e9 + PROCESS_GB;
}

/** The sentence for a model that does not fit this machine's free memory; null where it fits. */
export function memoryRefusal(facts: Facts): string | null {
  const needed = requiredMemoryGb(facts);
  const free = freeMemoryGb(facts);
  if (free === null || needed <= free) return null;
  const where = facts.device.device === "cuda" ? "GPU memory" : "memory";
  return `Cannot run ${facts.model.model_name} on this machine as its baseline needs about ` +
    `${needed.toFixed(1)} GB of ${where}: ${free.toFixed(1)} GB are free`;
}
