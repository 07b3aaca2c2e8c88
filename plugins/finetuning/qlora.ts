import { defineMethod, type Facts, type Support } from "../../core/mod.ts";
import {
  FACTOR_KNOBS,
  factorWeights,
  isSmall,
  lengthLabel,
  MERGE_KNOB,
  nextTraining,
  PROCESS_BYTES,
  rankFits,
  takesFactors,
  trainingBytes,
  trainingSeconds,
} from "./_training.ts";
import { factorLeaves } from "./_factors.ts";

/** Weights are multiplied out forward and backward: layers of 576 x 1,536 took 1.6 times as long. */
const SLOWER = 1.6;

/** Whether all linear layers are plain ones, whose weights can be held in four bits. */
function holdable(facts: Facts): Support {
  const { special_linear = null } = facts.model;
  if (special_linear === null) return takesFactors(facts);
  return {
    ok: false,
    reason: `${special_linear} is no plain linear layer, as NF4 takes: take lora`,
  };
}

/** QLoRA: the weights in NF4 of pare's own, the factors by peft. */
export default defineMethod({
  name: "qlora",
  summary: "LoRA beside weights that are held in four bits (NF4) while it trains",
  knobs: { ...FACTOR_KNOBS, ...MERGE_KNOB },
  needs: { environment: "default", data: "training", gpu: false },
  leaves: factorLeaves,
  order: {
    effect: "trains",
    follows: ["trains", "resizes"],
    precedes: ["trains", "prunes", "resizes", "rounds", "encodes"],
    reason: "it trains beside float weights, none of them pruned, which it holds in four bits",
  },
  label: ({ rank, merge, ...length }) => [
    `r${rank}`,
    ...lengthLabel(length),
    ...(merge ? [] : ["adapter"]),
  ],
  hint: (about) => about === "quality" ? "Take a lower lr or text like that of the tasks" : null,
  supports: holdable,
  accepts({ rank }, facts) {
    const support = holdable(facts);
    return support.ok ? rankFits(rank, facts) : support;
  },
  seed(boldness, facts) {
    return boldness === "conservative" && isSmall(facts) ? {} : null;
  },
  next: (params, finding) => nextTraining(params, finding, 0.00001),
  estimateSeconds: (params, facts) => SLOWER * trainingSeconds(params, facts),
  // At its peak while it loads: the model in float32; what trains later stands beside four bits.
  estimateMemory: (params, facts) =>
    PROCESS_BYTES + Math.max(
      4 * facts.model.parameters,
      4 * (facts.model.parameters - facts.model.linear_parameters) +
        0.57 * facts.model.linear_parameters +
        trainingBytes(factorWeights(params.rank, facts), params, facts),
    ),
});
