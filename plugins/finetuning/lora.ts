import { choice, defineMethod, flag } from "../../core/mod.ts";
import { factorLeaves } from "./_factors.ts";
import {
  FACTOR_KNOBS,
  factorWeights,
  isMixture,
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

/** LoRA and DoRA by peft. */
export default defineMethod({
  name: "lora",
  summary:
    "Trains low-rank factors beside the linear layers, merged into them or kept as an adapter",
  knobs: {
    ...FACTOR_KNOBS,
    dora: flag({
      default: false,
      description: "Train the length of every row of a weight apart from its direction (DoRA)",
      aliases: ["use_dora"],
      only_where: { knob: "merge", is: [true] },
    }),
    targets: choice(["all", "attention", "mlp"], {
      default: "all",
      unit: "layers",
      description: "The linear layers that get factors",
    }),
    ...MERGE_KNOB,
  },
  needs: { environment: "default", data: "training", gpu: false },
  leaves: factorLeaves,
  order: {
    effect: "trains",
    follows: ["trains", "prunes", "resizes"],
    precedes: ["trains", "prunes", "resizes", "rounds", "encodes"],
    reason: "it trains float weights of the shapes that they have then",
  },
  label: ({ rank, dora, targets, merge, ...length }) => [
    ...(dora ? ["DoRA"] : []),
    `r${rank}`,
    ...lengthLabel(length),
    ...(targets === "all" ? [] : [targets]),
    ...(merge ? [] : ["adapter"]),
  ],
  hint: (about) => about === "quality" ? "Take a lower lr or text like that of the tasks" : null,
  supports: (facts) => takesFactors(facts, true),
  accepts({ rank, dora, merge, targets }, facts) {
    if (dora && !merge) {
      const reason = "DoRA scales the weights that it lies beside: it is merged, or left out";
      return { ok: false, reason };
    }
    if (isMixture(facts) && targets !== "attention") {
      const reason =
        "training takes plain linear layers, not those of experts: take attention's, " +
        "with targets: attention";
      return { ok: false, reason };
    }
    return rankFits(rank, facts, targets === "attention");
  },
  auto: (facts) =>
    isMixture(facts)
      ? { targets: { value: "attention", reason: "a mixture's experts are no plain layers" } }
      : {},
  seed(boldness, facts) {
    if (boldness !== "conservative" || !isSmall(facts)) return null;
    return isMixture(facts) ? { targets: "attention" } : {};
  },
  next: (params, finding) => nextTraining(params, finding, 0.00001),
  estimateSeconds: (params, facts) => trainingSeconds(params, facts),
  // The model in float32, the factors, and what a batch's backward pass needs.
  estimateMemory: (params, facts) =>
    PROCESS_BYTES + 4 * facts.model.parameters +
    trainingBytes(factorWeights(params.rank, facts), params, facts),
});
