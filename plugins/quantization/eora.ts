import { defineMethod, type Facts, integer, type Leaves } from "../../core/mod.ts";
import { factorLeaves } from "../finetuning/_factors.ts";
import { rankFits, takesFactors } from "../finetuning/_training.ts";
import { modelMemory } from "./_groups.ts";
import { calibrationWindows, GPU_SPEED } from "./_linear.ts";

/** Eigenvalues and singular values of each matrix, then two passes of each window. */
const SECONDS_A_WEIGHT = 1e-6;
const SECONDS_A_WEIGHT_AND_WINDOW = 2e-8;
const START_SECONDS = 8;

const LAST = "it corrects weights as they are stored, and nothing may change them afterwards";

function leaves({ rank }: { readonly rank: number }, facts: Facts): Leaves {
  const { changes, model } = factorLeaves({ rank, merge: false }, facts);
  return { changes, model: { ...model, unpackable: `eora comes last: ${LAST}` } };
}

/** EoRA. */
export default defineMethod({
  name: "eora",
  summary: "Corrects rounded or pruned layers by low-rank factors beside them, without training",
  knobs: {
    rank: integer({
      minimum: 1,
      maximum: 512,
      default: 16,
      log: true,
      unit: "columns of each low-rank factor",
      description: "How many directions of a layer's error are taken back",
      aliases: ["lora_rank", "r"],
    }),
    samples: calibrationWindows(16),
  },
  needs: { environment: "default", data: "calibration", reference: true, gpu: false },
  leaves,
  order: {
    effect: "trains",
    follows: ["prunes", "rounds", "encodes"],
    precedes: [],
    reason: LAST,
  },
  label: ({ rank }) => [`r${rank}`],
  hint: (about) => about === "quality" ? "Take a higher rank" : "Take a lower rank",
  supports: (facts) => takesFactors(facts),
  accepts: ({ rank }, facts) => rankFits(rank, facts),
  // Alone it has nothing to correct: it follows on what rounds or prunes.
  seed: () => null,
  next({ rank, samples }, finding, facts) {
    const other = finding === "lost" ? 2 * rank : Math.floor(rank / 2);
    return other >= 1 && rankFits(other, facts).ok && other <= 512
      ? { rank: other, samples }
      : null;
  },
  estimateSeconds({ samples }, { model, device }) {
    const a_weight = SECONDS_A_WEIGHT + samples * SECONDS_A_WEIGHT_AND_WINDOW;
    const speed = device.device === "cuda" ? GPU_SPEED : 1;
    return START_SECONDS + model.linear_parameters * a_weight / speed;
  },
  // The model, one block's second moments, the original's matrix in work.
  estimateMemory: (_params, facts) => modelMemory(facts, 2),
});
