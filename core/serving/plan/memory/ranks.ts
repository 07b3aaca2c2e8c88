import type { Cache, Shape, Weight } from "../model/shape.ts";
import type { StoredForms } from "../model/stored_form.ts";
import { bytesOf } from "../model/weigh_parts.ts";

/** How a model is spread: tensors over `tensor` cards, layers over `pipeline` stages. */
export interface Spread {
  readonly tensor: number;
  readonly pipeline: number;
}

/** A stage of the pipeline: the weights and caches of one of its cards. */
export interface Stage {
  readonly weights: readonly Weight[];
  readonly caches: readonly Cache[];
}

/** Rows of the vocabulary are padded to a multiple of this before they are cut. */
const VOCABULARY_STEP = 64;

/** First layer of each stage and the count: the first stages take what is left over. */
function layerRanges(layers: number, pipeline: number): readonly (readonly [number, number])[] {
  const each = Math.floor(layers / pipeline);
  const over = layers % pipeline;
  let first = 0;
  return Array.from({ length: pipeline }, (_, stage) => {
    // The last stage has the head: it is the last to take one more.
    const own = each + (stage < over ? 1 : 0);
    const range = [first, own] as const;
    first += own;
    return range;
  });
}

/** What each stage of a pipeline holds: embedding in the first, head in the last, drafts in none. */
export function stagesOf(shape: Shape, { pipeline }: Spread): Stage[] {
  const ranges = layerRanges(shape.layers.length, pipeline);
  return ranges.map(([first, count], stage) => {
    const own = shape.layers.slice(first, first + count);
    const around = shape.outside.filter(({ part }) => {
      if (part === "draft layers") return false;
      if (part === "head" || part === "norms") return stage === pipeline - 1;
      if (part === "embedding" && shape.tied && stage === pipeline - 1) return true;
      return stage === 0;
    });
    return {
      weights: [...around, ...own.flatMap(({ weights }) => weights)],
      caches: own.flatMap(({ caches }) => caches),
    };
  });
}

/** Bytes of weights by the form they are stored in: every spread over cards asks for the same. */
const WHOLE = new WeakMap<StoredForms, Map<Weight, number>>();

function wholeBytes(weight: Weight, forms: StoredForms, value_bytes: number): number {
  let known = WHOLE.get(forms);
  if (known === undefined) WHOLE.set(forms, known = new Map());
  const before = known.get(weight);
  if (before !== undefined) return before;
  const bytes = bytesOf(weight, forms, value_bytes);
  known.set(weight, bytes);
  return bytes;
}

/** Bytes of a weight on one of `tensor` cards. */
function cutBytes(
  weight: Weight,
  forms: StoredForms,
  value_bytes: number,
  tensor: number,
  kv_heads: number,
): number {
  const whole = wholeBytes(weight, forms, value_bytes);
  switch (weight.cut) {
    case "copied":
      return whole;
    case "shared out":
      return whole / tensor;
    case "by kv heads":
      return whole / Math.min(tensor, kv_heads);
    case "by vocabulary": {
      const rows = Math.ceil(weight.rows / VOCABULARY_STEP) * VOCABULARY_STEP;
      return whole * (rows / weight.rows) / tensor;
    }
  }
}

/** KV heads of the layers that have any; 1: all share one, or none has. */
function kvHeadsOf(caches: readonly Cache[]): number {
  const heads = caches.flatMap((cache) => cache.kind === "tokens" ? [cache.kv_heads] : []);
  return heads.length === 0 ? 1 : Math.min(...heads);
}

/** Bytes of weights on one card of a stage. */
export function stageBytes(stage: Stage, shape: Shape, forms: StoredForms, tensor: number): number {
  const kv_heads = kvHeadsOf(stage.caches);
  return stage.weights.reduce(
    (sum, weight) => sum + cutBytes(weight, forms, shape.value_bytes, tensor, kv_heads),
    0,
  );
}
