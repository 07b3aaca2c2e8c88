import { type Change, defineRuntime, type Facts, type Support } from "../../core/mod.ts";
import { isGrid } from "../forms/grid.ts";

/** What its kernels for compressed-tensors take. */
const BITS = [4, 8];
const GROUPS = [-1, 32, 64, 128];
const OFFSET_BITS = 4;
const FLOAT_BYTES = 2;

function supports({ model, device }: Facts): Support {
  if (device.device !== "cuda") {
    return { ok: false, reason: `it needs a GPU: there is none here (${device.device_name})` };
  }
  if (model.custom_code) return { ok: false, reason: "the model brings its own code" };
  return { ok: true, reason: "runs packed checkpoints on a GPU" };
}

function holds({ part, effect, form }: Change): Support {
  if (effect === "caches") return { ok: false, reason: "its KV cache is its own" };
  if (form === null) return { ok: true };
  if (!isGrid(form)) return { ok: false, reason: `it loads no weights stored as ${form.form}` };
  const { bits, group_size, symmetric, activation_group_size: inputs } = form;
  if (part === "embedding") return { ok: false, reason: "it keeps the embedding in floats" };
  if (!BITS.includes(bits)) {
    return { ok: false, reason: `it computes with ${BITS.join(" or ")} bits, not ${bits}` };
  }
  if (bits !== OFFSET_BITS && !symmetric) {
    return { ok: false, reason: `its kernels take no zero points with ${bits} bits` };
  }
  if (!GROUPS.includes(group_size)) {
    const reason = `its groups are ${GROUPS.join(", ")} (-1 = the row), not ${group_size}`;
    return { ok: false, reason };
  }
  if (inputs === null || inputs === -1) return { ok: true };
  return { ok: false, reason: `it rounds inputs by whole tokens, not in groups of ${inputs}` };
}

/** Never run by its authors: no machine with a GPU and vLLM was at hand. */
export default defineRuntime({
  name: "vllm",
  summary: "Runs the written checkpoint in vLLM on a GPU (never tried by its authors)",
  needs: { environment: "vllm", gpu: true },
  form: null,
  supports,
  formats:
    "integers of 4 bits, and symmetric ones of 8, in whole rows or groups of 32, 64 or 128; " +
    "floats in 16 bits",
  holds,
  reads: ({ form, weights, stored_bytes }) => form === null ? FLOAT_BYTES * weights : stored_bytes,
  // Untried code is run only by those who ask for it.
  preference: 5,
});
