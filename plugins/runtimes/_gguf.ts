import type { Change, Facts, HeldPart, Support } from "../../core/mod.ts";
import { isAdapter } from "../forms/adapter.ts";
import { isDecoded } from "../forms/_decoded.ts";
import { isGgml } from "../forms/ggml.ts";
import { isGrid } from "../forms/grid.ts";

/** Weights that share a scale in every format that holds plain integers. */
const BLOCK = 32;
const OFFSET_BITS = 4;
const SCALE_BITS = 16;
const FLOAT_BYTES = 2;

/** Whether a GGUF file can hold what an action leaves. */
export function holds({ part, effect, form }: Change, { model }: Facts): Support {
  if (effect === "caches") return { ok: false, reason: "its file has no policy of a KV cache" };
  if (form === null || isDecoded(form) || isAdapter(form)) return { ok: true };
  if (!isGrid(form)) {
    return { ok: false, reason: `no GGUF file is written of weights stored as ${form.form}` };
  }
  const { bits, group_size, symmetric, activation_range } = form;
  if (activation_range === "static") {
    return { ok: false, reason: "it rounds inputs by what they are, not by a fixed range" };
  }
  if (bits > OFFSET_BITS && !symmetric) {
    return { ok: false, reason: `GGUF has no block of ${bits}-bit integers with a zero point` };
  }
  const rows = part === "embedding"
    ? [model.hidden_size]
    : model.linear_shapes.map(({ in_features }) => in_features);
  const odd = (group_size === -1 ? rows : [group_size]).find((width) => width % BLOCK !== 0);
  if (odd === undefined) return { ok: true };
  const reason =
    `a scale of GGUF is that of ${BLOCK} weights, which do not divide groups of ${odd}`;
  return { ok: false, reason };
}

/** A file's blocks: integers of 4 or 8 bits, a scale of 16 for each, an offset of 16 beside zero points. */
export function reads({ form, weights }: HeldPart): number {
  if (form !== null && isGgml(form)) return weights * form.bits / 8;
  if (form === null || !isGrid(form)) return FLOAT_BYTES * weights;
  const own = (form.symmetric ? 1 : 2) * SCALE_BITS / BLOCK;
  return weights * (Math.max(OFFSET_BITS, form.bits) + own) / 8;
}
