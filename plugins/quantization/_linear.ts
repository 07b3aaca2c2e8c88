/** What every method shares that rounds the linear layers alone: with these a further one is short. */
import { type Facts, integer, type Support } from "../../core/mod.ts";
import {
  acceptsLinear,
  autoGroupSize,
  gridHint,
  gridKnobsNamedFor,
  gridLabel,
  groupSize,
  leavesLinear,
  nextBits,
  packsLinearLayers,
  roundsOnce,
  symmetricGrid,
  weightBits,
} from "./_groups.ts";

/** A GPU does a calibrated method's work roughly so much faster; never measured here, only for planning. */
export const GPU_SPEED = 10;

export const gridKnobs = { bits: weightBits, group_size: groupSize, symmetric: symmetricGrid };

/** How many of the study's calibration windows a method reads. */
export function calibrationWindows(usual: number) {
  return integer({
    minimum: 1,
    maximum: 512,
    default: usual,
    log: true,
    unit: "calibration windows",
    description: "Calibration windows used, at most as many as the study has",
    takes: "windows",
    aliases: ["nsamples", "num_calibration_samples"],
  });
}

/** auto-round leaves a layer in floats of which this does not divide both sides. */
const SIDES = 32;

/** Whether auto-round rounds every linear layer. */
export function tunesEveryLayer({ model }: Facts): Support {
  const odd = model.linear_shapes.find(({ out_features, in_features }) =>
    out_features % SIDES !== 0 || in_features % SIDES !== 0
  );
  if (odd === undefined) return { ok: true };
  return {
    ok: false,
    reason: `auto-round leaves layers alone whose sides ${SIDES} does not divide, such as one of ` +
      `${odd.out_features} by ${odd.in_features}: take gptq, which rounds layers of every shape`,
  };
}

/** All of a method that its knobs, seed and costs do not say. */
export const linearQuantizer = {
  leaves: leavesLinear,
  order: roundsOnce,
  label: gridLabel,
  hint: gridHint,
  supports: packsLinearLayers,
  accepts: acceptsLinear,
  auto: (facts: Facts) => ({ group_size: autoGroupSize(facts) }),
  next: nextBits,
  knobs_named_for: gridKnobsNamedFor,
};
