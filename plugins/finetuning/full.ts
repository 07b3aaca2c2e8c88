import { defineMethod, real } from "../../core/mod.ts";
import {
  lengthLabel,
  nextTraining,
  PROCESS_BYTES,
  trainable,
  TRAINING_KNOBS,
  trainingBytes,
  trainingSeconds,
} from "./_training.ts";

/** The same as in full.py. */
const MOST_PARAMETERS = 500_000_000;

/** Full fine-tuning. */
export default defineMethod({
  name: "full",
  summary: "Trains every matrix, embedding and norm of a small model",
  knobs: {
    lr: real({
      minimum: 0.000001,
      maximum: 0.001,
      default: 0.00002,
      log: true,
      unit: "step of AdamW at its highest",
      description: "How far a step goes",
      aliases: ["learning_rate"],
    }),
    ...TRAINING_KNOBS,
  },
  needs: { environment: "default", data: "training", gpu: false },
  leaves(_params, { model }) {
    const changes = ["linear", "embedding", "norm"].map((part) => (
      { part, effect: "trains", form: null, least_cosine: 0.5 } as const
    ));
    return { changes, model };
  },
  order: {
    effect: "trains",
    follows: ["trains", "prunes", "resizes"],
    precedes: ["trains", "prunes", "resizes", "rounds", "encodes"],
    reason: "it trains float weights of the shapes that they have then",
  },
  label: (length) => lengthLabel(length),
  hint: (about) => about === "quality" ? "Take a lower lr or text like that of the tasks" : null,
  supports(facts) {
    const support = trainable(facts);
    const { parameters } = facts.model;
    if (!support.ok || parameters <= MOST_PARAMETERS) return support;
    const [most, count] = [MOST_PARAMETERS, parameters].map((one) => `${Math.round(one / 1e6)}`);
    const reason = `it trains every weight of at most ${most} million, the model has ${count}: ` +
      "lora trains a few beside them";
    return { ok: false, reason };
  },
  accepts: () => ({ ok: true }),
  seed: (boldness) => boldness === "conservative" ? {} : null,
  next: (params, finding) => nextTraining(params, finding, 0.000001),
  estimateSeconds: (params, facts) => 1.5 * trainingSeconds(params, facts),
  // The model with its gradients, moments and best weights, and a copy of these while it is saved.
  estimateMemory: (params, facts) =>
    PROCESS_BYTES + 24 * facts.model.parameters +
    trainingBytes(facts.model.parameters, params, facts),
});
