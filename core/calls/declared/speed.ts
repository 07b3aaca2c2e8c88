import { z } from "zod";
import { CarbonIntensity, CpuPower, EnergyReading } from "../../schemas/energy.ts";
import { Measurement, Numerics } from "../../schemas/measurement.ts";
import { declared } from "../../metrics/metric_table.ts";
import { Precision, RuntimeDir, WeightsDir } from "../folders.ts";
import { CALL_OPTIONS } from "../../schemas/call_options.ts";
import { defineCall } from "../define_call.ts";

/** A figure by its name: what it is in and which way is better stands in the table of metrics. */
const RuntimeFigure = Measurement.omit({ unit: true, direction: true }).transform(
  (figure, context) => {
    const known = declared(figure.metric);
    if (known !== undefined) return { ...figure, ...known };
    context.addIssue({ code: "custom", message: `no metric "${figure.metric}" is declared` });
    return z.NEVER;
  },
);

/** Latency, prefill, memory and energy of an artifact in a named runtime. */
export const speed = defineCall("speed", {
  request: {
    runtime: z.string(),
    artifact_dir: z.string(),
    form_dir: z.string().nullable().describe("made by make_form; null: it loads the checkpoint"),
    baseline_dir: z.string().nullable().describe("measured in turn with the artifact; null: alone"),
    baseline_form_dir: z.string().nullable().describe("the baseline's own"),
    prompt_tokens: z.int(),
    new_tokens: z.int(),
    least_passes: z.int().describe("pairs where there is a baseline; the first look at them"),
    most_passes: z.int().describe("looks come at twice as many each, until the interval is narrow"),
    half_width: z.number().describe(
      "of the ratio's 95 % interval, as a share of it: narrow enough",
    ),
    seed: z.int(),
    cpu_power: CpuPower.nullable().describe("null: an unknown CPU's"),
    carbon_intensity: CarbonIntensity.nullable().describe("null: CO2 is not told"),
    precision: Precision,
    weights_dir: WeightsDir,
    runtime_dir: RuntimeDir,
    ...CALL_OPTIONS.speed.shape,
  },
  result: z.strictObject({
    measurements: z.array(RuntimeFigure),
    baseline_measurements: z.array(RuntimeFigure),
    numerics: Numerics,
    bytes_read_per_token: z.int(),
    memory_bandwidth_gb_s: z.number().describe("measured in the same run"),
    roofline_ms: z.number(),
    load_average: z.number(),
    threads: z.int().describe("of the worker, which the runtime computes with"),
    energy: EnergyReading.describe("of the artifact's own passes"),
  }),
  timed: true,
  of_trial: true,
  sampled: true,
  told_by_loop: true,
});
