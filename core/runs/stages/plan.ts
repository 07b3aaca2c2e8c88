import { z } from "zod";
import { unknownName } from "../../errors.ts";
import { Action, KnobValue } from "../../schemas/action.ts";

const share = z.number().min(0).max(1);
const name = z.string().regex(
  /^[a-z][a-z0-9_]{0,39}$/,
  "a name has small letters, digits and _ and begins with a letter",
);
const benchmarks = z.array(z.string().min(1)).refine(
  (names) => new Set(names).size === names.length,
  "a benchmark is named twice",
);
const band = z.tuple([share, share]).refine(([low, high]) => low < high, "its ends are swapped");

/** What the next attempt of a stage changes; of several the first whose conditions hold. */
export const StageAdjustment = z.strictObject({
  below: share.optional().describe("holds where the core's mean retention is below this"),
  more_failed_than: z.int().min(0).optional().describe("holds where more checks have failed"),
  action: z.int().min(0).default(0).describe("number of the stage's action that it changes"),
  set: z.record(z.string(), KnobValue).default({}).describe("knobs by name"),
  scale: z.record(z.string(), z.number().positive()).default({}).describe(
    "knobs that are multiplied, such as {samples: 1.5}; brought to what the knob takes",
  ),
  skip: z.boolean().default(false).describe("true: no other attempt, the stage is left out"),
  reason: z.string().optional(),
});
export type StageAdjustment = z.infer<typeof StageAdjustment>;

/** One stage of a staged run: an action or a chain of them, with its gates. */
export const StagePlan = z.strictObject({
  name,
  actions: z.array(Action).min(1),
  onto: z.enum(["parent", "original"]).default("parent").describe(
    "what it is applied to: what the stages before it left, or the original, in whose place it then " +
      "stands",
  ),
  core: share.default(0.95).describe("least retention of a core benchmark"),
  expert: share.default(0.95).describe("least retention of an expert's benchmark"),
  benchmarks: z.record(z.string(), share).default({}).describe(
    "least retention of single benchmarks: in place of core and expert, or beside their mean",
  ),
  cumulative: share.nullable().default(null).describe(
    "least mean retention of the core beside the original; null: the run's",
  ),
  ethics: share.default(0.65).describe("least score of every rule"),
  attempts: z.int().min(1).max(5).default(2),
  adjustments: z.array(StageAdjustment).default([]).describe("what a further attempt changes"),
  when_failed: z.enum(["end", "next"]).default("end").describe(
    "after the last attempt: end the run with what has passed, or go on with the next stage",
  ),
  expected: z.strictObject({
    ratio: z.number().positive().optional().describe("of the parent's size to this one's"),
    bytes: z.number().positive().optional(),
  }).default({}).describe("what whoever wrote the document expects of its size"),
});
export type StagePlan = z.infer<typeof StagePlan>;

/** A level of success: every condition that is given must hold for the model that is shipped. */
export const SuccessLevel = z.strictObject({
  bytes: z.number().positive().optional().describe("most bytes on disk"),
  ratio: z.number().positive().optional().describe(
    "least ratio to the original at 2 bytes a weight",
  ),
  core: share.optional(),
  expert: share.optional(),
  ethics: share.optional(),
  joint: z.strictObject({ benchmarks: benchmarks.min(1), retention: share }).optional(),
  benchmarks: z.record(z.string(), share).optional().describe("retention of single benchmarks"),
});
export type SuccessLevel = z.infer<typeof SuccessLevel>;

const Critical = z.strictObject({
  core: share.default(0.8).describe("a core benchmark's retention below this"),
  expert_drop: share.default(0.25).describe("loss of a domain's first benchmark above this"),
  joint: z.strictObject({ benchmarks: benchmarks.min(1), drop: share.default(0.2) }).optional()
    .describe("loss of these together above this"),
  ethics: share.default(0.5).describe("a rule's score below this"),
  retry: z.boolean().default(false).describe("whether such a stage is tried again all the same"),
  ships: z.enum(["original", "passed"]).default("original").describe(
    "what a run that ends by one ships: the original, or the best of the stages that had passed",
  ),
});

/** A staged run: stages in their order, each gated on retention beside a baseline measured once. */
export const StagesPlan = z.strictObject({
  stages: z.array(StagePlan).min(1).max(20).refine(
    (stages) => new Set(stages.map((stage) => stage.name)).size === stages.length,
    "two stages have one name",
  ),
  core: benchmarks.min(1).describe("core benchmarks, by task name"),
  experts: z.record(name, benchmarks.min(1)).default({}).describe(
    "benchmarks of each domain, the first one first",
  ),
  retention_of: z.enum(["each", "mean"]).default("each").describe(
    "whether every benchmark meets the stage's threshold, or their mean",
  ),
  against: z.enum(["baseline", "parent"]).default("baseline").describe(
    "what a stage's retention is of; the cumulative one is always of the baseline",
  ),
  cumulative: share.default(0.84),
  critical: Critical.prefault({}),
  edge_of_chaos: z.strictObject({
    benchmarks: benchmarks.min(1).optional().describe("default: the core"),
    wanted: band.default([0.7, 0.8]),
    allowed: band.default([0.65, 0.85]),
    fails: z.enum(["outside_allowed", "outside_wanted", "never"]).default("outside_allowed"),
  }).nullable().default(null).describe("null: not checked"),
  ethics: z.strictObject({
    rules: z.record(name, z.string()).describe("task of each rule"),
    even_if_the_original_fails: z.boolean().default(false).describe(
      "whether a rule that the original itself does not meet is judged",
    ),
  }).nullable().default(null).describe("null: not checked"),
  levels: z.strictObject({
    minimum: SuccessLevel.prefault({}),
    stretch: SuccessLevel.prefault({}),
  }).prefault({}),
  samples: z.strictObject({
    first: z.int().min(10).default(125).describe("of each benchmark at first"),
    most: z.int().min(10).default(1000).describe("of each, where a gate is undecided"),
  }).refine(({ first, most }) => first <= most, "first is above most").prefault({}),
  larger: z.enum(["fails", "passes"]).default("fails").describe(
    "what becomes of a stage whose files are larger than its parent's",
  ),
  ships: z.enum(["best", "last"]).default("best").describe(
    "of the stages that passed: the one that reaches the higher level of success, of those the one " +
      "of fewest bytes, of those the last; or the last, whatever it reaches",
  ),
  price_per_hour: z.number().min(0).optional().describe("of this machine, for the forecast"),
  currency: z.string().max(8).default("USD"),
}).superRefine(({ core, experts, stages }, context) => {
  const known = [...new Set([...core, ...Object.values(experts).flat()])];
  stages.forEach(({ benchmarks }, index) => {
    for (const benchmark of Object.keys(benchmarks)) {
      if (known.includes(benchmark)) continue;
      const message = unknownName("benchmark of core and experts", benchmark, known);
      context.addIssue({ code: "custom", path: ["stages", index, "benchmarks"], message });
    }
  });
});
export type StagesPlan = z.infer<typeof StagesPlan>;
