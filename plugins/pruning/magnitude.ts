import { choice, defineMethod } from "../../core/mod.ts";
import {
  acceptsPattern,
  PROCESS_BYTES,
  sparsityKnobs,
  sparsityLabel,
  stored_as,
  unstructuredPruner,
} from "./_unstructured.ts";

/** Weights a second on one core: three passes of counting and one of packing, halved. */
const WEIGHTS_A_SECOND = 10e6;
const START_SECONDS = 4;

/** Magnitude pruning: no calibration data, one pass over the weights. */
export default defineMethod({
  ...unstructuredPruner,
  name: "magnitude",
  summary: "Makes the weights that are nearest to zero zero, and stores only the others",
  knobs: {
    ...sparsityKnobs,
    scope: choice(["layer", "global"], {
      default: "layer",
      unit: "what the share is of",
      description: "The share of every layer, or of all together by one threshold",
    }),
    stored_as,
  },
  needs: { environment: "default", gpu: false },
  label: ({ scope, ...params }) => [
    sparsityLabel(params),
    ...(scope === "layer" ? [] : [scope]),
    ...(params.stored_as === "dense" ? ["dense"] : []),
  ],
  accepts: ({ scope, ...params }, { model }) =>
    acceptsPattern(params, model, scope === "layer" ? null : `with the scope ${scope}`),
  seed(boldness) {
    if (boldness === "conservative") return { sparsity: 0.2 };
    return { sparsity: boldness === "balanced" ? 0.3 : 0.5 };
  },
  estimateSeconds: (_params, { model }) =>
    START_SECONDS + model.linear_parameters / WEIGHTS_A_SECOND,
  // The checkpoint stays on disk; the values that are left, in float16, and one matrix at a time.
  estimateMemory: (_params, { model }) => PROCESS_BYTES + 4 * model.linear_parameters,
});
