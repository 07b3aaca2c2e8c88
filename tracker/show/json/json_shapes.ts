import { Budget, JobCard, QueuedJob } from "./queue_shapes.ts";
import { z } from "zod";
import { ServingPlan } from "../../../core/serving/plan/schema.ts";
import {
  CALLS,
  Difference,
  Drift,
  ScoredCache,
  TimedCaches,
  TrialState,
} from "../../../core/mod.ts";

// What `--json` prints: an object with `kind`, `version` and `data`. Numbers are not rounded, and one
// that is not finite is null. Fields are added within a version; one that changes has a higher version.

const Figure = z.number().nullable();
const Interval = z.tuple([z.number(), z.number()]).nullable().describe("95 %; null: none is known");

/** A study in a list. */
export const StudyLine = z.strictObject({
  study_id: z.string(),
  kind: z.string().nullable().describe("of run; null: another tracker's"),
  model_name: z.string(),
  dataset: z.string(),
  trials: z.int(),
  stop: z.string().nullable().describe("why it ended; null: it runs or was interrupted"),
  source: z.string().describe("pare, or the tracker that it was imported from"),
});

/** One trial with everything that a person asks about it. */
export const TrialCard = z.strictObject({
  study_id: z.string(),
  trial_id: z.string(),
  name: z.string().describe("within its study, such as t03"),
  recipe: z.string(),
  state: TrialState,
  standing: z.string().describe("such as front, dominated, recommended or proxy only"),
  recommended: z.boolean(),
  fidelity: z.string().nullable().describe("the highest rung that it reached"),
  actions: z.array(z.strictObject({
    agent: z.string(),
    method: z.string(),
    params: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  })),
  figures: z.array(z.strictObject({
    metric: z.string(),
    unit: z.string(),
    value: Figure,
    standard_error: Figure,
    n: z.int(),
    baseline: Figure.describe("of the original, measured on the same rung"),
  })),
  task_figures: z.array(z.strictObject({
    task: z.string(),
    slice: z.string().nullable().describe("a mean over the task's parts; null: the task itself"),
    metric: z.string(),
    value: Figure,
    standard_error: Figure,
    n: z.int(),
  })).describe("quality task by task, on the rungs that were measured, the highest last"),
  quality_difference: z.strictObject({ metric: z.string(), value: Figure, interval: Interval })
    .nullable().describe(
      "to the baseline on the same samples: accuracy absolute, perplexity relative",
    ),
  latency_ratio: z.strictObject({
    value: Figure,
    interval: Interval,
    ran_in: z.string().nullable().describe("runtime and precision; null: not known"),
    original_ran_in: z.string().nullable().describe("those of the original beside it"),
  }).nullable().describe("to the baseline of the same minutes"),
  size: z.strictObject({
    bytes: Figure,
    given_bytes: z.number().describe("of the weight files that the user gave"),
    fp16_bytes: z.number().describe("of the original as 16-bit floats"),
  }),
  constraints: z.array(z.strictObject({
    constraint: z.string(),
    verdict: z.string(),
    value: Figure,
    threshold: z.number(),
    interval: Interval,
    interval_holds: z.enum(["once", "at any look"]).nullable().describe(
      "at any look: taken batch by batch, wider than quality_difference's; null: none, or exact",
    ),
  })),
  gates: z.array(z.strictObject({
    gate: z.string(),
    decision: z.string(),
    reason: z.string(),
    value: Figure,
    threshold: Figure,
  })),
  ended: z.strictObject({ reason: z.string(), what_to_do: z.string().nullable() }).nullable()
    .describe("why it ended before it was complete; null: it is complete, or runs"),
  artifacts: z.array(z.strictObject({
    artifact_id: z.string(),
    parent_id: z.string().nullable(),
    method: z.string().nullable(),
    size_bytes: z.number(),
    location: z.string(),
    files: z.array(z.strictObject({ path: z.string(), bytes: z.number() })),
  })).describe("in the order in which its actions made them"),
  seconds: z.number(),
  commands: z.record(z.string(), z.string()).describe("command lines that go on from here"),
});
export type TrialCard = z.infer<typeof TrialCard>;

/** A study: what it came to, every trial of it, and the files of its report where they were written. */
export const StudyCard = z.strictObject({
  study_id: z.string(),
  kind: z.string().describe("of run, such as search, stages or evaluation"),
  model_name: z.string(),
  dataset: z.string(),
  stop: z.string().nullable().describe("why it ended; null: it runs or was interrupted"),
  message: z.string().nullable().describe("the same as a sentence"),
  front: z.array(z.string()).describe("trial ids, the best first"),
  front_note: z.string().nullable(),
  scored_again: z.array(z.strictObject({
    ...{ task: z.string(), scorer: z.string(), scorer_version: z.string() },
    beside_because: z.string().nullable().describe(
      "why they stand beside; null: figures are of these scores, decisions of earlier ones",
    ),
    at: z.string(),
  })).describe("answers that were scored again, the newest of each task and scorer"),
  recommended: z.string().nullable().describe("a trial id; null: keep the original"),
  reasons: z.array(z.string()),
  trials: z.array(TrialCard),
  phases: z.array(z.strictObject({ name: z.string(), seconds: z.number() })),
  files: z.array(z.string()).nullable().describe("of its report; null: none was written now"),
  checkpoint: z.string().nullable().describe("the recommended one's folder"),
  loader: z.string().nullable().describe("the lines of Python that load it"),
  runs_in: z.array(z.strictObject({
    runtime: z.string(),
    ran_in: z.string().describe("with the precision that it computed in"),
    latency_ms: z.number().describe("milliseconds per token"),
    latency_ratio: z.number().nullable().describe("over the original's in that runtime, in turn"),
    original_ran_in: z.string(),
    accuracy_change: z.number().nullable().describe("in the runtime, less the evaluation's"),
    accuracy_samples: z.int().nullable().describe("that both were asked"),
    accuracy_error: z.number().nullable().describe("standard error of accuracy_change"),
  })).describe("the recommended trial in each runtime that timed it, the fastest first"),
  run_lines: z.string().nullable().describe(
    "what makes and runs its file in the fastest; null: the checkpoint itself is run",
  ),
});
export type StudyCard = z.infer<typeof StudyCard>;

/** What weights, or each profile, would pick of a study. */
export const WeighedStudy = z.strictObject({
  study_id: z.string(),
  weighed: z.array(z.strictObject({
    name: z.string().nullable().describe("of the profile; null: weights that were given"),
    weights: z.record(z.string(), z.number()).describe("scaled to sum to 1"),
    picked: z.string().describe("a trial id; the baseline's: the original is kept"),
    keep_original: z.boolean(),
    reasons: z.array(z.string()),
    left_out: z.array(z.string()).describe("weights without a figure, each with the reason"),
    ranking: z.array(z.strictObject({ trial_id: z.string(), recipe: z.string(), reward: Figure })),
  })),
});
export type WeighedStudy = z.infer<typeof WeighedStudy>;

/** What the workers of a trial wrote. */
export const TrialLog = z.strictObject({
  trial_id: z.string(),
  calls: z.array(z.strictObject({
    call: z.string(),
    path: z.string(),
    text: z.string().describe("bars that were drawn over stand as they were last"),
    as_recorded: z.boolean().nullable().describe("by its hash; null: none is known"),
    doubt: z.string().nullable(),
  })),
});
export type TrialLog = z.infer<typeof TrialLog>;

/** A note that was left. */
const LeftNote = z.strictObject({
  subject: z.string().describe("a study or a trial"),
  note_id: z.string(),
  said: z.string().describe("whether it is taken up, and by whom"),
});

/** An export of every table and view. */
const Export = z.strictObject({
  folder: z.string(),
  tables: z.array(z.strictObject({
    name: z.string(),
    kind: z.enum(["table", "view"]),
    rows: z.int(),
    path: z.string().describe("relative to the folder"),
  })),
  stale: z.string().nullable().describe("why what was recorded last is not in it; null: it is"),
});

/** What was gathered for others. */
export const Published = z.strictObject({
  study_id: z.string(),
  folder: z.string().nullable().describe("null: none was asked for"),
  files: z.int(),
  left_out: z.array(z.string()),
  hub: z.array(z.string()).nullable().describe("what went, or would go, to the hub; null: nothing"),
});

/** One report over several studies. */
const StudiesReport = z.strictObject({
  studies: z.array(z.string()),
  files: z.array(z.string()),
});

/** Two trials beside each other. */
export const TrialsBeside = z.strictObject({
  first: z.string(),
  second: z.string(),
  tasks: z.array(z.strictObject({
    task: z.string(),
    metric: z.string(),
    first: Figure,
    second: Figure,
    difference: Figure.describe("second less first; of perplexity relative: second / first - 1"),
    interval: Interval,
    p_adjusted: Figure.describe("Holm over the tasks"),
    n: z.int(),
  })),
  costs: z.array(z.strictObject({
    metric: z.string(),
    first: Figure,
    second: Figure,
    ratio: Figure.describe("second / first; of latency_ratio both are to their own baselines"),
  })),
  refused: z.array(z.string()).describe("what may not be compared, and why"),
});
export type TrialsBeside = z.infer<typeof TrialsBeside>;

/** Two studies beside each other. */
export const StudiesBeside = z.strictObject({
  first: z.string(),
  second: z.string(),
  same_model: z.boolean(),
  same_dataset: z.boolean(),
  same_protocol: z.boolean().nullable(),
  rows: z.array(z.strictObject({
    what: z.string(),
    first: z.union([Figure, z.string()]),
    second: z.union([Figure, z.string()]),
  })),
});
export type StudiesBeside = z.infer<typeof StudiesBeside>;

/** How the store stands. */
const StoreStatus = z.strictObject({
  store: z.string(),
  journal_bytes: z.int(),
  index: z.string(),
  writers: z.array(z.strictObject({
    study_id: z.string().nullable().describe("null: an old store as a whole"),
    process: z.string(),
  })).describe("who writes which study now"),
  open_in: z.array(z.string()),
  latest_study: z.string().nullable(),
  latest_kind: z.string().nullable().describe("of run, of the latest study"),
  kept_aside: z.array(z.string()),
});

/** What was removed, or would be. */
const Removed = z.strictObject({
  dry_run: z.boolean(),
  removed: z.array(z.strictObject({
    what: z.enum(["form", "unfinished work", "artifact", "given"]).describe(
      "given: a model or dataset of an object store, by its path",
    ),
    name: z.string(),
    bytes: z.number(),
  })),
  freed_bytes: z.number(),
  artifact_bytes: z.number().describe("that are left, or would be"),
  form_bytes: z.number(),
  kept: z.array(z.string()).describe("what stays although it may be of no use, and why"),
});

/** A part of the set-up. */
export const Check = z.strictObject({
  name: z.string(),
  ok: z.boolean(),
  required: z.boolean(),
  found: z.string(),
  fix: z.string().nullable(),
});

/** Something that can be named in a study. */
export const Named = z.strictObject({
  kind: z.string().describe("method, dataset, task, sampler or runtime"),
  name: z.string(),
  summary: z.string(),
});

/** What `--dataset` may say: the words that stand for several benchmarks, and the benchmarks. */
export const Datasets = z.strictObject({
  sets: z.array(z.strictObject({
    datasets: z.array(z.string()),
    benchmarks: z.array(z.string()),
    weights: z.record(z.string(), z.number()).describe("those that count other than 1"),
    missing: z.record(z.string(), z.string()).describe("what cannot be had, and why"),
  })),
  benchmarks: z.array(z.strictObject({
    name: z.string(),
    summary: z.string(),
    metric: z.string(),
    proxy_samples: z.int(),
    full_samples: z.int().nullable().describe("null: all"),
    few_shot: z.int(),
    chance: z.number().nullable().describe("the share that guessing gets; null: none is known"),
    data: z.string(),
  })),
});
export type Datasets = z.infer<typeof Datasets>;

/** What came of running a recorded trial again. */
const Reproduction = z.strictObject({
  trial: z.string(),
  reproduction: z.string(),
  folder: z.string(),
  state: z.string().describe("of the repetition's trial"),
  verdict: z.enum(["equal", "within_noise", "different"]).describe("the worst of the figures'"),
  differences: z.array(Difference),
  drift: z.array(Drift.extend({ recorded: Figure, again: Figure })),
});

/** How far a model's predictions are from another's. */
const Kl = CALLS.model_kl.result.extend({
  base: z.string().describe("as it was named"),
  other: z.string(),
});

/** What settings of a runtime's cache cost. */
const MeasuredCaches = TimedCaches.omit({ numerics: true, version: true }).extend({
  study_id: z.string(),
  artifact_id: z.string(),
  runtime: z.string(),
  runtime_version: z.string(),
  full: z.string().describe("the setting that the others are held against"),
  scores: z.array(ScoredCache).optional().describe("by what each generates; absent: not asked"),
  launches: z.record(z.string(), z.array(z.string())).optional().describe(
    "by setting: what the runtime's own program is told",
  ),
});

/** What each command's `--json` prints as `data`, by kind. */
export const JSON_SHAPES = {
  studies: z.array(StudyLine),
  study: StudyCard,
  trial: TrialCard,
  trials_beside: TrialsBeside,
  studies_beside: StudiesBeside,
  status: StoreStatus,
  gc: Removed,
  doctor: z.array(Check),
  plugins: z.array(Named),
  datasets: Datasets,
  reproduction: Reproduction,
  kl: Kl,
  caches: MeasuredCaches,
  weighed: WeighedStudy,
  log: TrialLog,
  note: LeftNote,
  export: Export,
  published: Published,
  studies_report: StudiesReport,
  queue: z.array(QueuedJob),
  job: JobCard,
  budget: z.array(Budget),
  plan: ServingPlan,
} as const;
