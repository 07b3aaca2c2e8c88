import { defineRuntime } from "../../core/mod.ts";

const FLOAT_BYTES = 4;

export default defineRuntime({
  name: "transformers",
  summary: "Runs the dequantized weights in torch: packed formats are emulated, never ranked",
  needs: { environment: "default", gpu: false },
  form: null,
  supports: () => ({ ok: true, reason: "runs every architecture that transformers loads" }),
  precisions: () => ["f32"],
  formats: "everything, multiplied out to float32",
  emulates: "multiplies packed weights out to float32 and has no kernel for a cache that is cut",
  holds: () => ({ ok: true }),
  reads: ({ weights }) => FLOAT_BYTES * weights,
  preference: 10,
});
