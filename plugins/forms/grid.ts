import { defineForm, type LinearShape, type StoredForm } from "../../core/mod.ts";

/** Integers on a uniform grid: what a runtime must know of them. */
export interface GridForm extends StoredForm {
  readonly form: "grid";
  readonly bits: number;
  /** Consecutive weights of a row that share a scale; -1 = the whole row. */
  readonly group_size: number;
  /** Centred on zero; else each group stores a zero point in as many bits. */
  readonly symmetric: boolean;
  /** Features of an input that share a scale, -1 = all; null: inputs stay floats. */
  readonly activation_group_size: number | null;
  /** Inputs have one scale, fixed by calibration; absent: scales are found as the model runs. */
  readonly activation_range?: "static";
}

const SCALE_BITS = 16;

export function isGrid(form: StoredForm): form is GridForm {
  return form.form === "grid";
}

/** Bytes of matrices in this form: integers, a scale for each group, a zero point where it has one. */
export function gridBytes(
  { bits, group_size, symmetric }: GridForm,
  shapes: readonly LinearShape[],
): number {
  const group_bits = SCALE_BITS + (symmetric ? 0 : bits);
  return shapes.reduce((sum, { out_features, in_features, count }) => {
    const groups = group_size === -1 ? 1 : in_features / group_size;
    return sum + count * out_features * (in_features * bits + groups * group_bits) / 8;
  }, 0);
}

/** Compressed-tensors' packed integers; its Python half is the checkpoint's quantized tensor. */
export default defineForm({
  name: "grid",
  summary: "Integers of 2 to 8 bits with a scale for each group",
});
