import { defineMethod, type Facts, flag, type Leaves } from "../../core/mod.ts";
import {
  dividesRows,
  gridForm,
  type GROUP_SIZES,
  leavesRounded,
  linearRows,
  modelMemory,
  packsLinearLayers,
  roundsOnce,
} from "./_groups.ts";
import { autoInputGroup, inputGroup } from "./_inputs.ts";
import { partsOf, targetedWeights, withOuterLayers, withTargets } from "./_targets.ts";

/** As in rtn.ts. */
const WEIGHTS_A_SECOND = 100e6;
const CLIP_COST = 12;
const START_SECONDS = 2;
const ROWS = { bits: 8, group_size: -1, symmetric: true } as const;
const NEURAL_COMPRESSOR = "Intel Neural Compressor is no dependency of pare; of what it does, " +
  "int8 rounds weights and inputs to 8 bits as the model runs, rtn, gptq, awq, hqq and autoround " +
  "round weights, mixed gives each layer a format of its own, fp is for FP8 and MX, magnitude " +
  "prunes and distill distils";

interface Int8Params {
  readonly activation_group_size: (typeof GROUP_SIZES)[number];
  readonly targets: "linear" | "all";
}

/** Embedding and head have a scale a row; their inputs stay as they are. */
function leaves({ activation_group_size, targets }: Int8Params, facts: Facts): Leaves {
  const changes = [];
  let model = facts.model;
  for (const part of partsOf(targets)) {
    const form = part === "linear" ? { ...gridForm(ROWS), activation_group_size } : gridForm(ROWS);
    const left = leavesRounded([part], form, { ...facts, model });
    changes.push(...left.changes);
    model = left.model;
  }
  return { changes, model };
}

/** 8-bit integers: weights once for each output channel, inputs as the model runs. */
export default defineMethod({
  name: "int8",
  summary: "Rounds weights to 8 bits for each output channel, and their inputs by tokens or groups",
  named_for: {
    inc: NEURAL_COMPRESSOR,
    neural_compressor: NEURAL_COMPRESSOR,
    intel_neural_compressor: NEURAL_COMPRESSOR,
    int8_dynamic: "int8 rounds inputs as the model runs",
    w8a8:
      "int8 takes no data; smoothquant moves outliers into the weights first, and may fix the " +
      "ranges of inputs (activation_scheme: static)",
    w8a16: "take rtn with bits: 8, or smoothquant with activation_scheme: floats",
  },
  knobs: {
    clip: flag({
      default: false,
      description:
        "Shrink each channel's range to what makes its error, the sum of |error|^2.5, least",
    }),
    activation_group_size: inputGroup,
    targets: withOuterLayers,
  },
  needs: { environment: "default", gpu: false },
  leaves,
  order: roundsOnce,
  label: ({ activation_group_size: group, targets }) =>
    withTargets(targets, [group > 0 ? `inputs by ${group}` : "inputs by token"]),
  hint: (about) => about === "quality" ? "Take the clip or smaller groups" : "Take fewer bits",
  supports: packsLinearLayers,
  accepts: (params, facts) => dividesRows(params.activation_group_size, linearRows(facts)),
  auto: (facts) => ({ activation_group_size: autoInputGroup(facts) }),
  seed(boldness, { model }) {
    if (boldness !== "conservative") return null;
    // Left in floats, the embedding of a small model would be a quarter of the bytes.
    const large = 6 * model.embedding_parameters > model.linear_parameters;
    return { activation_group_size: "auto", targets: large ? "all" : "linear" };
  },
  next: (params, finding) => finding === "lost" && !params.clip ? { ...params, clip: true } : null,
  estimateSeconds: (params, facts) =>
    START_SECONDS +
    targetedWeights(params.targets, facts) * (params.clip ? CLIP_COST : 1) / WEIGHTS_A_SECOND,
  estimateMemory: (_params, facts) => modelMemory(facts, 1),
});
