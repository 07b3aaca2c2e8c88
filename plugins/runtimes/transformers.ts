import { defineRuntime } from "../../core/mod.ts";

export default defineRuntime({
  name: "transformers",
  summary: "Runs the dequantized weights in torch: packed formats are emulated, never ranked",
  needs: { environment: "default", export_environment: null },
  supports: () => ({ ok: true, reason: "runs every architecture that transformers loads" }),
  preference: 10,
});
