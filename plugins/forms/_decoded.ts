import type { StoredForm } from "../../core/mod.ts";

/** Forms that runtimes take the floats of that they stand for; llama.cpp multiplies by ggml's itself. */
const DECODED = ["bitmask", "ggml", "lattice", "ordered", "seeds", "table", "vectors"];

/** Whether whoever runs weights in this form runs them as floats, decoded when they are loaded. */
export function isDecoded({ form }: StoredForm): boolean {
  return DECODED.includes(form);
}
