/** What methods leave that fold scales of the layers' inputs into norms before they round. */
import type { Change, Facts, Leaves } from "../../core/mod.ts";
import { leavesRounded, type RoundedPart } from "./_groups.ts";
import type { GridForm } from "../forms/grid.ts";

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
