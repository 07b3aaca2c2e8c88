import type { Card } from "./cards/card_table.ts";
import type { Asked, Fit, Stored } from "./fit.ts";
import { activeParameters } from "./model/weigh_parts.ts";
import type { Speed } from "./schema.ts";

/** A speed that was measured on a card, over the bound that the roofline gives for the same case. */
export interface MeasuredFactor {
  readonly factor: number;
  /** Share by which measurements differ from each other. */
  readonly spread: number;
  readonly source: string;
}

const NOT_MEASURED = {
  ...{ factor: 1, spread: .4 },
  source: "roofline with the shares of it that published runs reach; none was measured here",
};

/** Shares of a card's bandwidth and arithmetic that servers reach by published runs. */
const REACHED = { bandwidth: .8, arithmetic: .5 };
/** Seconds of a layer that no card's speed takes away: starts of kernels, sums over cards, routing. */
const LAYER_SECONDS = { always: 30e-6, many_cards: 30e-6, experts: 60e-6 };

/** Experts that `batch` tokens touch at least, as a share: each token draws its own. */
function touched(share: number, batch: number): number {
  return 1 - (1 - share) ** batch;
}

/**
 * Tokens a second by the roofline: a step takes what reading weights and caches takes, or what its
 * arithmetic takes, whichever is longer.
 */
export function speedOf(
  stored: Stored,
  card: Card,
  layout: Fit,
  asked: Asked,
  measured: MeasuredFactor = NOT_MEASURED,
): Speed | null {
  if (!layout.fits) return null;
  const { shape, forms } = stored;
  const { tensor_parallel: tensor, pipeline_parallel: pipeline, memory, context } = layout;
  const active = activeParameters(shape);
  const whole = shape.layers.flatMap(({ weights }) => weights);
  const copies = whole.find(({ copies: count }) => count > 1);
  const expert_bytes = whole.filter(({ copies: count }) => count > 1)
    .reduce((sum, { rows, columns, copies: count }) => sum + rows * columns * count, 0);
  const all = whole.reduce((sum, one) => sum + one.rows * one.columns * one.copies, 0) || 1;
  const expert_share = expert_bytes / all;
  const eight = /fp8|modelopt|float/.test(forms.main.method ?? "") && forms.main.per_group !== 16;
  const operations = ((eight ? card.tflops.fp8 : undefined) ?? card.tflops.bf16) * 1e12 * tensor *
    REACHED.arithmetic;
  const bandwidth = card.bandwidth * REACHED.bandwidth;
  const waits = shape.layers.length / pipeline *
    (LAYER_SECONDS.always + (tensor > 1 ? LAYER_SECONDS.many_cards : 0) +
      (copies === undefined ? 0 : LAYER_SECONDS.experts));
  // Bytes of weights on one card that a step of so many tokens reads.
  const weightBytes = (batch: number) => {
    const share = copies === undefined ? 1 : touched(copies.active, batch);
    return memory.weights * (1 - expert_share + expert_share * share);
  };
  const step = (batch: number, kept: number) => {
    const read = (weightBytes(batch) + batch * kept * layout.kv_bytes_per_token) / bandwidth;
    const computed = 2 * active / pipeline * batch / operations;
    return { seconds: pipeline * (Math.max(read, computed) + waits), memory: read >= computed };
  };
  const half = context / 2; // tokens kept by a sequence on the way to its whole context
  const batch = Math.max(1, Math.min(asked.batch.sequences, layout.sequences_at_context[0]));
  const [alone, together] = [step(1, half), step(batch, half)];
  const { factor } = measured;
  const prefill = operations * pipeline / (2 * active) * factor;
  return {
    decode_tokens_per_second: factor / alone.seconds,
    batch_tokens_per_second: factor * batch * (pipeline > 1 ? pipeline : 1) / together.seconds,
    prefill_tokens_per_second: prefill,
    first_token_seconds: pipeline * context / prefill,
    bound_by: together.memory ? "memory" : "arithmetic",
    ...{ factor, error: measured.spread, source: measured.source },
  };
}
