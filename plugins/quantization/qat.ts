import { choice, defineMethod, flag, real } from "../../core/mod.ts";
import {
  PROCESS_BYTES,
  trainable,
  TRAINING_KNOBS,
  trainingBytes,
  trainingSeconds,
} from "../finetuning/_training.ts";
import {
  acceptsLinear,
  autoGroupSize,
  dividesRows,
  gridForm,
  gridHint,
  gridLabel,
  leavesRounded,
  nextBits,
  roundsOnce,
  seedGroupSize,
} from "./_groups.ts";
import { gridKnobs } from "./_linear.ts";
import { partsOf, tableTargets, type Targets } from "./_table.ts";

/** The forward pass of the unrounded model beside a step's own, and the rounding. */
const SLOWER = 1.7;

function trainedWeights(targets: Targets, { model }: Parameters<typeof trainable>[0]): number {
  return (targets === "embedding" ? 0 : model.linear_parameters) +
    (targets === "linear" ? 0 : model.embedding_parameters);
}

/** Quantization-aware training. */
export default defineMethod({
  name: "qat",
  summary: "Trains weights as they will be rounded, towards what the unrounded model answers",
  knobs: {
    ...gridKnobs,
    clip: flag({
      default: true,
      description: "Begin with each group's range shrunk to where its squared error is least",
    }),
    targets: tableTargets,
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
  leaves: (params, facts) => leavesRounded(partsOf(params.targets), gridForm(params), facts),
  order: roundsOnce,
  label: (params) => [
    ...(params.targets === "linear" ? [] : [params.targets]),
    ...gridLabel(params),
    ...(params.epochs > 0 ? [`${params.epochs} epochs`] : [`${params.steps} steps`]),
  ],
  hint: gridHint,
  supports: trainable,
  accepts(params, facts) {
    if (params.targets !== "linear") {
      const divides = dividesRows(params.group_size, [facts.model.hidden_size]);
      if (!divides.ok) return divides;
    }
    return params.targets === "embedding" ? { ok: true } : acceptsLinear(params, facts);
  },
  auto: (facts) => ({ group_size: autoGroupSize(facts) }),
  seed: (boldness, facts) =>
    boldness === "aggressive" ? { bits: 3, group_size: seedGroupSize(facts) } : null,
  next: nextBits,
  estimateSeconds: (params, facts) => SLOWER * trainingSeconds(params, facts),
  // The model, the weights as they came, and rounded; what is trained, and a batch's passes.
  estimateMemory: (params, facts) =>
    PROCESS_BYTES + 12 * facts.model.parameters +
    trainingBytes(trainedWeights(params.targets, facts), params, facts) +
    12 * params.batch * params.tokens * facts.model.vocabulary,
});
