import { defineForm, type LinearShape, type StoredForm } from "../../core/mod.ts";

/** Two low-rank factors beside every matrix: what a runtime must know of them. */
export interface AdapterForm extends StoredForm {
  readonly form: "adapter";
  readonly rank: number;
}

const FACTOR_BYTES = 2;

/** Bytes of the factors of these matrices, float16. */
export function adapterBytes({ rank }: AdapterForm, shapes: readonly LinearShape[]): number {
  return shapes.reduce(
    (sum, { out_features, in_features, count }) =>
      sum + count * rank * (out_features + in_features) * FACTOR_BYTES,
    0,
  );
}

export function isAdapter(form: StoredForm): form is AdapterForm {
  return form.form === "adapter";
}

/** A LoRA adapter in peft's own files, in a folder beside the weights. */
export default defineForm({
  name: "adapter",
  summary: "Low-rank factors beside the weights, which stay as they are",
});
