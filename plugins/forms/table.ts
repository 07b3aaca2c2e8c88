import { defineForm, type LinearShape, type StoredForm } from "../../core/mod.ts";

/** Codes into a table of numbers, times the scale of their block. */
export interface TableForm extends StoredForm {
  readonly form: "table";
  readonly format: "nf4" | "fp4" | "fp8_e4m3" | "mxfp4" | "nvfp4";
  /** Weights that share a scale; -1 = a row, null = a matrix. */
  readonly block_size: number | null;
  /** Scales in 8 bits, with scales of their own. */
  readonly double_quant: boolean;
}

/** Scales that share a scale where they are doubly quantized. */
const SCALE_BLOCK = 256;
const FLOAT_BYTES = 4;
/** A matrix's format and its shape. */
const MATRIX_BYTES = 16 + 16;

/** Bits of a weight's code. */
export function codeBits({ format }: TableForm): number {
  return format === "fp8_e4m3" ? 8 : 4;
}

function scaleBytes({ format, double_quant }: TableForm, blocks: number): number {
  if (format === "mxfp4") return blocks;
  if (format === "nvfp4") return blocks + FLOAT_BYTES;
  if (!double_quant) return blocks * FLOAT_BYTES;
  return blocks + FLOAT_BYTES * (1 + Math.ceil(blocks / SCALE_BLOCK));
}

/** Bytes of matrices in this form: the codes, the scales, and what each matrix has once. */
export function tableBytes(form: TableForm, shapes: readonly LinearShape[]): number {
  return shapes.reduce((sum, { out_features, in_features, count }) => {
    const weights = out_features * in_features;
    const block = form.block_size === -1 ? in_features : form.block_size ?? weights;
    const codes = Math.ceil(weights * codeBits(form) / 8);
    return sum + count * (codes + scaleBytes(form, Math.ceil(weights / block)) + MATRIX_BYTES);
  }, 0);
}

/** Pare's own layout; the numbers are those of bitsandbytes and of the OCP's formats. */
export default defineForm({
  name: "table",
  summary: "Codes of 4 or 8 bits into a table of numbers, with a scale for each block",
});
