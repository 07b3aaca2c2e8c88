import { z } from "zod";
import { KnobDescription, KnobValue } from "../../schemas/action.ts";
import { ArtifactFigure, FloatPart, MAX_FIGURES } from "../../schemas/artifact.ts";
import { CpuPower } from "../../schemas/energy.ts";
import { OwnFacts } from "../../schemas/facts.ts";
import { CALL_OPTIONS } from "../../schemas/call_options.ts";
import { defineCall } from "../define_call.ts";

/** One action: parent directory in, child directory out. */
export const apply = defineCall("apply", {
  request: {
    parent_dir: z.string(),
    output_dir: z.string(),
    agent: z.string(),
    method: z.string(),
    params: z.record(z.string(), KnobValue),
    calibration_path: z.string().nullable().describe("written by prepare_data"),
    seed: z.int(),
    python_path: z.string().nullable().describe("a third party's Python half: its .py file"),
    training_path: z.string().nullable().optional().describe("written by prepare_data"),
    work_dir: z.string().nullable().optional().describe(
      "the action's own folder: what a killed run left in it is found by the next one",
    ),
    parent_id: z.string().optional().describe("the parent's: a setting names its weights by it"),
    original_dir: z.string().nullable().optional().describe("the study's uncompressed model"),
    original_cache: z.string().nullable().optional().describe("what that model answers, kept"),
    student_dir: z.string().nullable().optional().describe("the smaller one that was named"),
    reference_dir: z.string().nullable().optional().describe(
      "the model before the latest actions that rounded or pruned the parent",
    ),
    layer_cache: z.string().nullable().optional().describe("the parent's rounded layers, kept"),
    given_path: z.string().optional().describe("a checkpoint made elsewhere, for what takes one"),
    tool_python: z.string().optional().describe(
      "interpreter of the environment of the program that the method runs beside",
    ),
    device: z.enum(["cpu", "cuda"]).optional().describe("whose energy is counted; absent: cpu"),
    cpu_power: CpuPower.nullable().optional().describe("by which an estimate of it counts"),
    beside: z.boolean().optional().describe(
      "other calls may compute meanwhile: a counter of the whole processor tells nothing of this one",
    ),
    knobs: z.array(KnobDescription).optional().describe(
      "what a third party's method declares; absent: the method is pare's, whose knobs Python has",
    ),
    ...CALL_OPTIONS.apply.shape,
  },
  result: z.strictObject({
    size_bytes: z.int(),
    formula_bytes: z.int(),
    weight_bits: z.number(),
    activation_bits: z.int().nullable(),
    stored_layers: z.int(),
    peak_memory_bytes: z.int(),
    notes: z.array(z.string()),
    floats: z.array(FloatPart),
    loader: z.string(),
    model: OwnFacts.describe("the model that was written"),
    figures: z.array(ArtifactFigure).max(MAX_FIGURES).describe("what the method tells of it"),
  }),
  imports: "torch",
  of_trial: true,
  sampled: true,
  told_by_loop: true,
});
