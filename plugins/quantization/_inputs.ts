/** What methods share that round inputs, or fold scales of them into norms before they round. */
import { type Change, choice, type Facts, type Leaves } from "../../core/mod.ts";
import { GROUP_SIZES, largestGroup, leavesRounded, type RoundedPart } from "./_groups.ts";
import type { GridForm } from "../forms/grid.ts";

/**
 * In OpenVINO, SmolLM2-135M generates as fast with any group and reads prompts within 6 % of the
 * fastest with 64, while the KL divergence from unquantized activations grows with the group: 0.002
 * nats with 32, 0.004 with 64, 0.009 with 192, 0.027 with whole tokens (512 tokens of text).
 */
const LARGEST_AUTO_GROUP = 64;

/** Features of an input that share a scale; by default what every library loads and serves. */
export const inputGroup = choice(GROUP_SIZES, {
  default: -1,
  unit: "features a scale, -1 = whole token",
  description:
    "Consecutive features of a token that share a scale; must divide the row. Nearer to floats, " +
    "but vLLM takes whole tokens alone",
});

/** On a CPU the groups that OpenVINO computes with; a GPU's kernels take whole tokens alone. */
export function autoInputGroup(facts: Facts): ReturnType<typeof largestGroup> {
  return facts.device.device === "cuda"
    ? { value: -1, reason: "kernels of GPUs round inputs by whole tokens alone" }
    : largestGroup(facts, LARGEST_AUTO_GROUP);
}

/**
 * Least cosine of scaled weights with their source's: scales from 0.01 to 100, evenly in their
 * logarithm, leave 0.5; those of another layer have about 0.
 */
const LEAST_COSINE = 0.05;

/** The same for norms and biases, whose few values differ more; one of another layer may pass. */
const LEAST_COSINE_OF_VECTORS = 0.01;

/** What rounding scaled layers to this form leaves. */
export function leavesScaledForm(
  form: GridForm,
  facts: Facts,
  parts: readonly RoundedPart[] = ["linear"],
): Leaves {
  const rounded = leavesRounded(parts, form, facts);
  const vectors = ["norm", "bias"].map((part): Change => ({
    part,
    effect: "rounds",
    form: null,
    least_cosine: LEAST_COSINE_OF_VECTORS,
  }));
  const layers = rounded.changes.map((change) =>
    change.part === "linear" ? { ...change, least_cosine: LEAST_COSINE } : change
  );
  return { ...rounded, changes: [...layers, ...vectors] };
}
