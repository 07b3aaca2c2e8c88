import { choice, defineMethod, flag, real } from "../../core/mod.ts";
import {
  PROCESS_BYTES,
  trainable,
  TRAINING_KNOBS,
  trainingBytes,
  trainingSeconds,
} from "../finetuning/_training.ts";
import {
  autoGroupSize,
  gridHint,
  gridKnobsNamedFor,
  nextBits,
  roundsOnce,
  seedGroupSize,
} from "./_groups.ts";
import { gridKnobs } from "./_linear.ts";
import { targetedGrid, targetedWeights, targetsKnob } from "./_targets.ts";

/** The forward pass of the unrounded model beside a step's own, and the rounding. */
const SLOWER = 1.7;

/** Quantization-aware training. */
export default defineMethod({
  name: "qat",
  summary: "Trains weights as they will be rounded, towards what the unrounded model answers",
  knobs_named_for: gridKnobsNamedFor,
  knobs: {
    ...gridKnobs,
    clip: flag({
      default: true,
      description:
        "Begin with each group's range shrunk to where its error is least (sum of |error|^2.5)",
    }),
    targets: targetsKnob,
    qat_loss: choice(["kl", "next_token"], {
      default: "kl",
      unit: "name",
      description: "KL divergence from the unrounded model, or the text's own next tokens",
    }),
    lr: real({
      minimum: 0.000001,
      maximum: 0.01,
      default: 0.0001,
      log: true,
      unit: "step of AdamW at its highest",
      description: "How far a step goes",
      aliases: ["learning_rate"],
    }),
    ...TRAINING_KNOBS,
  },
  needs: { environment: "default", data: "training", gpu: false },
  leaves: targetedGrid.leaves,
  order: roundsOnce,
  label: (params) => [
    ...targetedGrid.label(params),
    ...(params.epochs > 0 ? [`${params.epochs} epochs`] : [`${params.steps} steps`]),
  ],
  hint: gridHint,
  supports: trainable,
  accepts: targetedGrid.accepts,
  auto: (facts) => ({ group_size: autoGroupSize(facts) }),
  seed: (boldness, facts) =>
    boldness === "aggressive" ? { bits: 3, group_size: seedGroupSize(facts) } : null,
  next: nextBits,
  estimateSeconds: (params, facts) => SLOWER * trainingSeconds(params, facts),
  // The model, the weights as they came, and rounded; what is trained, and a batch's passes.
  estimateMemory: (params, facts) =>
    PROCESS_BYTES + 12 * facts.model.parameters +
    trainingBytes(targetedWeights(params.targets, facts), params, facts) +
    12 * params.batch * params.tokens * facts.model.vocabulary,
});
