import { choice, defineMethod, flag } from "../../core/mod.ts";
import type { TableForm } from "../forms/table.ts";
import { packsLinearLayers, roundsOnce } from "./_groups.ts";
import { leavesTable, tableHint, tableMemory, tableSeconds } from "./_table.ts";
import { targetsKnob } from "./_targets.ts";

/** bitsandbytes' 4-bit tables. */
export default defineMethod({
  name: "nf4",
  summary: "Rounds weights to the 16 numbers of bitsandbytes' NF4 or FP4, a scale for each block",
  named_for: {
    bitsandbytes: "nf4 writes bitsandbytes' four-bit numbers; int8 is for its 8 bits",
    bnb: "nf4 writes bitsandbytes' four-bit numbers; int8 is for its 8 bits",
  },
  knobs: {
    quant_type: choice(["nf4", "fp4"], {
      default: "nf4",
      unit: "table of numbers",
      description: "Quantiles of a normal distribution, or floats of four bits",
      aliases: ["bnb_4bit_quant_type"],
    }),
    block_size: choice([64, 128, 256], {
      default: 64,
      unit: "weights a scale",
      description: "Consecutive weights of the matrix that share a scale",
    }),
    double_quant: flag({
      default: false,
      description: "Store the scales in 8 bits too, by blocks of 256",
      aliases: ["bnb_4bit_use_double_quant"],
    }),
    targets: targetsKnob,
  },
  needs: { environment: "default", gpu: false },
  leaves({ quant_type, block_size, double_quant, targets }, facts) {
    const form: TableForm = { form: "table", format: quant_type, block_size, double_quant };
    return leavesTable(targets, form, facts);
  },
  order: roundsOnce,
  label: ({ quant_type, block_size, double_quant, targets }) => [
    ...(targets === "linear" ? [] : [targets]),
    quant_type,
    `g${block_size}`,
    ...(double_quant ? ["double"] : []),
  ],
  hint: tableHint,
  supports: packsLinearLayers,
  accepts: (_params, facts) => packsLinearLayers(facts),
  seed: (boldness) => boldness === "balanced" ? {} : null,
  next(params, finding) {
    const sizes = [64, 128, 256] as const;
    const block_size = finding === "lost"
      ? sizes.findLast((size) => size < params.block_size)
      : sizes.find((size) => size > params.block_size);
    return block_size === undefined ? null : { ...params, block_size };
  },
  estimateSeconds: ({ targets }, facts) => tableSeconds(targets, facts),
  estimateMemory: (_params, facts) => tableMemory(facts),
});
