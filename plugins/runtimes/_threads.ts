import { integer } from "../../core/mod.ts";

const MOST_THREADS = 1024;

/** Of a runtime on the CPU. */
export const THREADS = integer({
  minimum: 0,
  maximum: MOST_THREADS,
  default: 0,
  unit: "threads",
  description: "Compute side by side; 0 = all that a call has",
});
