/** Methods whose `targets` knob names the linear layers, the embedding with the output head, or both. */
import { choice, type Facts, type Leaves, type Support } from "../../core/mod.ts";
import {
  acceptsLinear,
  dividesRows,
  gridForm,
  gridLabel,
  type GridParams,
  leavesRounded,
  type RoundedPart,
} from "./_groups.ts";

export type Targets = "linear" | "embedding" | "all";

export const targetsKnob = choice(["linear", "embedding", "all"], {
  default: "linear",
  unit: "part of the model",
  description: "What to round: linear layers, embedding with output head, or both",
});

/** Of a method whose inputs are rounded too: an embedding has none, so that alone it is another's. */
export const withOuterLayers = choice(["linear", "all"], {
  default: "linear",
  unit: "part of the model",
  description:
    "What to round: linear layers, or embedding and output head too, whose inputs stay " +
    "floats; the embedding alone is rtn's (bits: 8, targets: embedding)",
});

type TargetedParams = GridParams & { readonly targets: Targets };

export function partsOf(targets: Targets): RoundedPart[] {
  return targets === "all" ? ["linear", "embedding"] : [targets];
}

/** Weights that are rounded. */
export function targetedWeights(targets: Targets, { model }: Facts): number {
  return (targets === "embedding" ? 0 : model.linear_parameters) +
    (targets === "linear" ? 0 : model.embedding_parameters);
}

/** A method's label with what it rounds where that is not the linear layers alone. */
export function withTargets(targets: Targets, label: readonly string[]): string[] {
  if (targets === "embedding") return ["embedding", ...label];
  return targets === "all" ? [...label, "with embedding"] : [...label];
}

function acceptsTargets(params: TargetedParams, facts: Facts): Support {
  if (params.targets !== "linear") {
    const divides = dividesRows(params.group_size, [facts.model.hidden_size]);
    if (!divides.ok) return divides;
  }
  return params.targets === "embedding" ? { ok: true } : acceptsLinear(params, facts);
}

/** What such a method says of itself where it stores a grid. */
export const targetedGrid = {
  leaves: (params: TargetedParams, facts: Facts): Leaves =>
    leavesRounded(partsOf(params.targets), gridForm(params), facts),
  label: (params: TargetedParams): string[] => withTargets(params.targets, gridLabel(params)),
  accepts: acceptsTargets,
};
