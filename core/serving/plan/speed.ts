import type { Card } from "./cards/card_table.ts";
import type { Asked, Fit, Stored } from "./fit.ts";
import { activeParameters } from "./model/weigh_parts.ts";
import type { Speed } from "./schema.ts";

/** A step of a load on the cards that are planned for: so many sequences at a time. */
export interface MeasuredStep {
  readonly sequences: number;
  /** Tokens that a sequence keeps on the way, on average. */
  readonly kept_tokens: number;
  readonly output_tokens_per_second: number;
}

/** What was measured of the model on these cards, and where it stands. */
export interface Measured {
  readonly steps: readonly MeasuredStep[];
  readonly source: string;
}

/** What the roofline's tokens a second are multiplied by. */
interface Correction {
  readonly factor: number;
  /** Share by which a server may differ either way. */
  readonly error: number;
  readonly source: string;
}

/**
 * Published runs reach 0.37 to 1.25 of the roofline here: nineteen steps of nine set-ups, from one
 * sequence to 256, all dense models and mixtures of experts. This range is all of that.
 */
const NOT_MEASURED: Correction = {
  ...{ factor: .8, error: .6 },
  source:
    "0.8 of a roofline, and as far to either side as 19 published steps of 9 set-ups lie; none " +
    "was measured here",
};
/** Other loads differ at least so much, however near the measured steps lie to each other. */
const LEAST_ERROR = .1;

/** Shares of a card's bandwidth and arithmetic that servers reach at best: recalled, not fitted. */
const REACHED = { bandwidth: .8, arithmetic: .5 };
/** Seconds of a layer that no card's speed takes away, recalled too: starts, sums over cards, routing. */
const LAYER_SECONDS = { always: 30e-6, many_cards: 30e-6, experts: 60e-6 };

/** Experts that `batch` tokens touch at least, as a share: each token draws its own. */
function touched(share: number, batch: number): number {
  return 1 - (1 - share) ** batch;
}

/** Seconds of a step by the roofline, and whether memory is what it waits for. */
type Roofline = (batch: number, kept: number) => { seconds: number; memory: boolean };

/** Operations a second of the cards of a stage, as far as servers reach them. */
function operationsOf({ forms }: Stored, card: Card, { tensor_parallel }: Fit): number {
  const eight = /fp8|modelopt|float/.test(forms.main.method ?? "") && forms.main.per_group !== 16;
  const tflops = (eight ? card.tflops.fp8 : undefined) ?? card.tflops.bf16;
  return tflops * 1e12 * tensor_parallel * REACHED.arithmetic;
}

/**
 * A step takes what reading weights and caches takes, or what its arithmetic takes, whichever is longer,
 * and for each layer what no card's speed takes away.
 */
function rooflineOf(stored: Stored, card: Card, layout: Fit): Roofline {
  const { shape } = stored;
  const { tensor_parallel: tensor, pipeline_parallel: pipeline, memory } = layout;
  const active = activeParameters(shape);
  const whole = shape.layers.flatMap(({ weights }) => weights);
  const size = (all: typeof whole) =>
    all.reduce((sum, { rows, columns, copies }) => sum + rows * columns * copies, 0);
  const routed = whole.filter(({ copies }) => copies > 1);
  const expert_share = size(routed) / (size(whole) || 1);
  const operations = operationsOf(stored, card, layout);
  const bandwidth = card.bandwidth * REACHED.bandwidth;
  const waits = shape.layers.length / pipeline *
    (LAYER_SECONDS.always + (tensor > 1 ? LAYER_SECONDS.many_cards : 0) +
      (routed.length === 0 ? 0 : LAYER_SECONDS.experts));
  return (batch, kept) => {
    const share = routed[0] === undefined ? 1 : touched(routed[0].active, batch);
    const weights = memory.weights * (1 - expert_share + expert_share * share);
    const read = (weights + batch * kept * layout.kv_bytes_per_token) / bandwidth;
    const computed = 2 * active / pipeline * batch / operations;
    return { seconds: pipeline * (Math.max(read, computed) + waits), memory: read >= computed };
  };
}

/** How measured steps stand to the roofline of the layout on which they were measured. */
export function correctionBy(
  { steps, source }: Measured,
  stored: Stored,
  card: Card,
  layout: Fit,
): Correction {
  const roofline = rooflineOf(stored, card, layout);
  const ratios = steps.filter((one) => one.output_tokens_per_second > 0).map((one) =>
    one.output_tokens_per_second * roofline(one.sequences, one.kept_tokens).seconds / one.sequences
  );
  if (ratios.length === 0) return NOT_MEASURED;
  const factor = Math.exp(ratios.reduce((sum, one) => sum + Math.log(one), 0) / ratios.length);
  const error = Math.max(LEAST_ERROR, ...ratios.map((one) => Math.abs(one / factor - 1)));
  return { factor, error, source };
}

/** Tokens a second of a layout; null: it does not fit. */
export function speedOf(
  stored: Stored,
  card: Card,
  layout: Fit,
  asked: Asked,
  { factor, error, source }: Correction = NOT_MEASURED,
): Speed | null {
  if (!layout.fits) return null;
  const { pipeline_parallel: pipeline, context } = layout;
  const roofline = rooflineOf(stored, card, layout);
  const half = context / 2; // tokens kept by a sequence on the way to its whole context
  const batch = Math.max(1, Math.min(asked.batch.sequences, layout.sequences_at_context[0]));
  const [alone, together] = [roofline(1, half), roofline(batch, half)];
  const active = activeParameters(stored.shape);
  const prefill = operationsOf(stored, card, layout) * pipeline / (2 * active) * factor;
  return {
    decode_tokens_per_second: factor / alone.seconds,
    batch_tokens_per_second: factor * batch * pipeline / together.seconds,
    prefill_tokens_per_second: prefill,
    first_token_seconds: pipeline * context / prefill,
    bound_by: together.memory ? "memory" : "arithmetic",
    ...{ factor, error, source },
  };
}
