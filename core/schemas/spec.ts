import { z } from "zod";
import { EvictAfter } from "./facts.ts";
import { Fidelity, FULL, PROXY } from "./fidelity.ts";

export const Objective = z.strictObject({
  metric: z.string(),
  direction: z.enum(["maximize", "minimize"]),
  unit: z.string(),
});
export type Objective = z.infer<typeof Objective>;

/** Weights of what the front names, of accuracy as a gain and of the others as costs; they sum to 1. */
export const RewardWeights = z.strictObject({
  accuracy: z.number(),
  latency: z.number(),
  memory: z.number(),
  energy: z.number(),
  co2: z.number().optional().describe("absent in old records: 0"),
  size: z.number().optional().describe(
    "absent: 0, as in old records, which weighed memory instead",
  ),
  distance: z.number().optional().describe("to the original's answers; absent in old records: 0"),
});
export type RewardWeights = z.infer<typeof RewardWeights>;

/** One benchmark of the study. How many of its samples are taken, its rungs say. */
export const TaskPlan = z.strictObject({
  task: z.string(),
  task_version: z.string(),
  metric: z.string().optional().describe(
    "what it reports, such as accuracy or f1; absent in old records: accuracy or perplexity",
  ),
  primary: z.boolean().describe("counts for the primary quality"),
  available_samples: z.int().optional().describe("that exist; absent in old records"),
  chance: z.number().optional().describe("score of guessing; absent in old records"),
  strata: z.literal("by_rows").optional().describe(
    "each part of the task counts by its rows; absent, as in old records: every sample alike",
  ),
  weight: z.number().positive().optional().describe("in the mean over tasks; absent: 1"),
});
export type TaskPlan = z.infer<typeof TaskPlan>;

/** One rung of the evaluation ladder. */
export const Rung = z.strictObject({
  fidelity: Fidelity,
  samples: z.record(z.string(), z.int().nullable()).describe(
    "by task; null = all; absent: not asked on this rung",
  ),
});
export type Rung = z.infer<typeof Rung>;

/** The ladder, cheapest first: each rung holds the samples of the one before it, of some tasks or all. */
const Rungs = z.array(Rung).min(1)
  .refine((rungs) => rungs.at(-1)?.fidelity === FULL, `the last rung must be ${FULL}`)
  .refine(
    (rungs) => new Set(rungs.map(({ fidelity }) => fidelity)).size === rungs.length,
    "every rung must have a name of its own",
  );

/** Of a spec of before there were rungs: two counts with each task. */
const TwoCounts = z.looseObject({
  rungs: z.undefined().optional(),
  tasks: z.array(z.looseObject({
    task: z.string(),
    proxy_samples: z.int(),
    full_samples: z.int().nullable(),
  })),
});

/** An older spec with the two rungs that it had; any other as it is. */
function withRungs(value: unknown): unknown {
  const old = TwoCounts.safeParse(value);
  if (!old.success) return value;
  const { tasks, ...spec } = old.data;
  const counted = (count: "proxy_samples" | "full_samples") =>
    Object.fromEntries(tasks.map((plan) => [plan.task, plan[count]]));
  return {
    ...spec,
    tasks: tasks.map(({ proxy_samples: _, full_samples: __, ...plan }) => plan),
    rungs: [
      { fidelity: PROXY, samples: counted("proxy_samples") },
      { fidelity: FULL, samples: counted("full_samples") },
    ],
  };
}

export const MethodVerdict = z.strictObject({
  agent: z.string(),
  method: z.string(),
  supported: z.boolean(),
  reason: z.string().describe("why it was refused, or why it is preferred"),
});
export type MethodVerdict = z.infer<typeof MethodVerdict>;

/** A value nobody gave: taken by default or inferred, and where from. */
export const Assumption = z.strictObject({
  field: z.string(),
  value: z.union([z.number(), z.string(), z.boolean(), z.null()]),
  source: z.enum(["default", "inferred", "asked", "target"]),
  reason: z.string(),
});
export type Assumption = z.infer<typeof Assumption>;

/** How much a figure must get better than the baseline's, or may get worse. */
export const Goal = z.strictObject({
  on: z.string().describe("a metric, or a task of the study"),
  of: z.enum(["metric", "task"]),
  amount: z.number().describe("above 0: at least so much better; else at most so much worse"),
  percent: z.boolean().describe(
    "of the baseline's figure, the amount as a share; else in its unit",
  ),
});
export type Goal = z.infer<typeof Goal>;

export const Constraints = z.strictObject({
  max_accuracy_drop: z.number(),
  max_task_drops: z.record(z.string(), z.number()).optional().describe("by task; absent: none"),
  goals: z.array(Goal).optional().describe("against the baseline; absent: none"),
  max_vram_gb: z.number().nullable(),
  max_latency_ms: z.number().nullable(),
  max_size_gb: z.number().nullable(),
  max_kv_gb: z.number().optional().describe(
    "of keys and values at context_tokens; absent: no limit",
  ),
});
export type Constraints = z.infer<typeof Constraints>;

/** What a dataset may be: benchmarks are chosen, and rules asked, by it. */
export const DATASET_CLASSES = [
  "math",
  "code",
  "reasoning",
  "general",
  "language",
  "chat",
  "custom",
] as const;

/** A runtime that ran the original here, in the precision in which it was fastest. */
export const RunnableIn = z.strictObject({
  runtime: z.string(),
  precision: z.string().describe("in which it runs weights that are all floats"),
  latency_ms: z.number().describe("of the original, milliseconds per token"),
  loads: z.string().optional().describe(
    "format of pare convert that its users load; absent: the checkpoint itself",
  ),
});
export type RunnableIn = z.infer<typeof RunnableIn>;

const SpecFields = z.strictObject({
  model_size_gb: z.number().describe("fp16 bytes / 1e9"),
  preferred_quant: z.array(z.string()).describe("method names in order of preference"),
  primary_objective: z.enum(["accuracy", "latency"]),
  default_constraints: z.strictObject({
    max_accuracy_drop: z.number(),
    max_vram_gb: z.number().nullable(),
  }),
  dataset_class: z.enum(DATASET_CLASSES),
  constraints: Constraints.describe("in force: defaults, target and the user's own"),
  objectives: z.array(Objective).describe("of the front; the first is the primary quality"),
  reward_weights: RewardWeights,
  tasks: z.array(TaskPlan),
  rungs: Rungs,
  gates: z.array(z.strictObject({
    metric: z.string(),
    most: z.number().describe("a trial that is surely above it goes no further"),
  })).optional().describe("on the distance to the original; absent: none, as in old records"),
  missing_tasks: z.array(z.strictObject({ task: z.string(), reason: z.string() })),
  evict_after: EvictAfter.optional().describe(
    "a cache is cut after each sample's context, and what follows alone is scored; absent: texts are read whole",
  ),
  context_tokens: z.int().positive().optional().describe(
    "at which keys and values are counted, and memory is weights with them; absent: memory is what a process took",
  ),
  untimed: z.string().optional().describe(
    "why speed and memory are not measured in the runtime; absent: they are",
  ),
  predictor: z.literal("likelihoods").optional().describe(
    "verdicts on quality use what the original answered of all samples, and how sure it was; absent: " +
      "scores alone, as in old records",
  ),
  methods: z.array(MethodVerdict),
  runtime: z.string(),
  runtimes: z.array(RunnableIn).optional().describe(
    "that were timed with the original, the fastest first; absent: none was",
  ),
  required_memory_gb: z.number(),
  assumptions: z.array(Assumption),
  warnings: z.array(z.string()),
});

/** What the coordinator works to: inferred from facts and request by `inferSpec`. */
export const Spec = z.preprocess(withRungs, SpecFields);
export type Spec = z.infer<typeof Spec>;
