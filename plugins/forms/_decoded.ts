import type { StoredForm } from "../../core/mod.ts";

/** Forms that no runtime multiplies by: each takes the floats that they stand for. */
const DECODED = ["bitmask", "lattice", "seeds", "table", "vectors"];

/** Whether whoever runs weights in this form runs them as floats, decoded when they are loaded. */
export function isDecoded({ form }: StoredForm): boolean {
  return DECODED.includes(form);
}
