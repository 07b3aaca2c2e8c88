import { choice, defineMethod } from "../../core/mod.ts";
import type { TableForm } from "../forms/table.ts";
import { dividesRows, linearRows, packsLinearLayers, roundsOnce } from "./_groups.ts";
import { leavesTable, tableHint, tableMemory, tableSeconds } from "./_table.ts";
import { type Targets, targetsKnob } from "./_targets.ts";

const FORMATS = ["nvfp4", "mxfp4", "fp8_e4m3"] as const;
const BLOCKS = { fp8_e4m3: -1, mxfp4: 32, nvfp4: 16 } as const;

interface FloatParams {
  readonly float_format: (typeof FORMATS)[number];
  readonly fp8_scale: "per_channel" | "per_tensor";
  readonly targets: Targets;
}

function floatForm({ float_format: format, fp8_scale }: FloatParams): TableForm {
  const whole = format === "fp8_e4m3" && fp8_scale === "per_tensor";
  return {
    form: "table",
    format,
    block_size: whole ? null : BLOCKS[format],
    double_quant: false,
  };
}

/** FP8 and the block-scaled floats of four bits. */
export default defineMethod({
  name: "fp",
  summary: "Rounds weights to floats of 8 bits (FP8) or of 4 with small scales (MXFP4, NVFP4)",
  knobs: {
    float_format: choice(FORMATS, {
      default: "nvfp4",
      unit: "format of the numbers",
      description: "FP8 E4M3; E2M1 by blocks of 32 (MXFP4) or of 16 (NVFP4)",
    }),
    fp8_scale: choice(["per_channel", "per_tensor"], {
      default: "per_channel",
      unit: "FP8 scales",
      description: "One scale for each output channel, or one for the matrix",
      aliases: ["granularity"],
      only_where: { knob: "float_format", is: ["fp8_e4m3"] },
    }),
    targets: targetsKnob,
  },
  needs: { environment: "default", gpu: false },
  leaves: (params, facts) => leavesTable(params.targets, floatForm(params), facts),
  order: roundsOnce,
  label: ({ float_format: format, fp8_scale, targets }) => [
    ...(targets === "linear" ? [] : [targets]),
    format,
    ...(format === "fp8_e4m3" && fp8_scale === "per_tensor" ? ["one scale"] : []),
  ],
  hint: tableHint,
  supports: packsLinearLayers,
  accepts(params, facts) {
    const packs = packsLinearLayers(facts);
    if (!packs.ok) return packs;
    const embedding = params.targets === "linear" ? [] : [facts.model.hidden_size];
    const linear = params.targets === "embedding" ? [] : linearRows(facts);
    return dividesRows(BLOCKS[params.float_format], [...linear, ...embedding]);
  },
  seed: (boldness) => boldness === "conservative" ? { float_format: "fp8_e4m3" } : null,
  next(params, finding) {
    const at = FORMATS.indexOf(params.float_format) + (finding === "lost" ? 1 : -1);
    const float_format = FORMATS[at];
    return float_format === undefined ? null : { ...params, float_format };
  },
  estimateSeconds: ({ targets }, facts) => tableSeconds(targets, facts),
  estimateMemory: (_params, facts) => tableMemory(facts),
});
