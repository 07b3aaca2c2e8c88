import { choice, defineMethod, type Facts, flag } from "../../core/mod.ts";
import {
  acceptsLinear,
  autoGroupSize,
  dividesRows,
  gridForm,
  gridHint,
  gridLabel,
  groupSize,
  hasLinearLayers,
  leavesRounded,
  modelMemory,
  nextBits,
  roundsOnce,
  seedGroupSize,
  symmetricGrid,
  weightBits,
} from "./_groups.ts";

/** Weights rounded a second on one core: 0.5 s for the 106 million of SmolLM2-135M, doubled. */
const WEIGHTS_A_SECOND = 100e6;
/** The search for a clip tries 20 more ranges, in place: 12 times the plain rounding. */
const CLIP_COST = 12;
const START_SECONDS = 2;

type Targets = "linear" | "embedding" | "all";

const changesLinear = (targets: Targets) => targets !== "embedding";
const changesEmbedding = (targets: Targets) => targets !== "linear";

function changedWeights(targets: Targets, { model }: Facts): number {
  return (changesLinear(targets) ? model.linear_parameters : 0) +
    (changesEmbedding(targets) ? model.embedding_parameters : 0);
}

/** Round-to-nearest: no calibration data, one pass over the weights. */
export default defineMethod({
  name: "rtn",
  summary: "Rounds each group of weights to the nearest points of a uniform grid",
  knobs: {
    bits: weightBits,
    group_size: groupSize,
    symmetric: symmetricGrid,
    clip: flag({
      default: false,
      description: "Shrink each group's range to what makes its squared error least",
    }),
    targets: choice(["linear", "embedding", "all"], {
      default: "linear",
      unit: "part of the model",
      description: "What to round: linear layers, embedding with output head, or both",
    }),
  },
  needs: { environment: "default", gpu: false },
  leaves(params, facts) {
    const parts = [
      ...(changesLinear(params.targets) ? ["linear" as const] : []),
      ...(changesEmbedding(params.targets) ? ["embedding" as const] : []),
    ];
    return leavesRounded(parts, gridForm(params), facts);
  },
  order: roundsOnce,
  label: (params) => [
    ...(params.targets === "linear" ? [] : [params.targets]),
    ...gridLabel(params),
  ],
  hint: gridHint,
  supports: hasLinearLayers,
  accepts(params, facts) {
    if (changesEmbedding(params.targets)) {
      const divides = dividesRows(params.group_size, [facts.model.hidden_size]);
      if (!divides.ok) return divides;
    }
    return changesLinear(params.targets) ? acceptsLinear(params, facts) : { ok: true };
  },
  auto: (facts) => ({ group_size: autoGroupSize(facts) }),
  seed(boldness, facts) {
    const group_size = seedGroupSize(facts);
    if (boldness === "conservative") return { bits: 8, group_size };
    if (boldness === "balanced") return { bits: 4, group_size, clip: true };
    return { bits: 3, group_size, clip: true };
  },
  next: nextBits,
  estimateSeconds(params, facts) {
    const passes = params.clip ? CLIP_COST : 1;
    return START_SECONDS + changedWeights(params.targets, facts) * passes / WEIGHTS_A_SECOND;
  },
  // The matrix in work, and what is done: a byte a weight; the rest stays on disk.
  estimateMemory: (_params, facts) => modelMemory(facts, 1),
});
