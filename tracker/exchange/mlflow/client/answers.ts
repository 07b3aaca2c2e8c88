import { z } from "zod";
import { wholeNumber } from "../../imports/foreign_values.ts";

/** int64: newer servers answer a number, older ones a text. */
const Digits = z.string().regex(/^-?\d+$/);
const Whole = z.union([z.int(), Digits]).transform(Number);
/** A step without a digit lost: a text where a double cannot hold it. */
const Step = z.union([z.int(), Digits]).transform(wholeNumber);

/** A double as MLflow's JSON has it: NaN and the infinities are texts. */
export const WireNumber = z.union([z.number(), Digits, z.literal(["NaN", "Infinity", "-Infinity"])])
  .transform(Number);

/** What stands for a number in a request: JSON has no NaN and no infinity. */
export function toWire(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

export const MetricPoint = z.object({
  key: z.string(),
  value: WireNumber.default(0), // protobuf's JSON may leave out what is zero
  timestamp: Whole.default(0),
  step: Step.default(0),
});
export type MetricPoint = z.infer<typeof MetricPoint>;

const Pair = z.object({ key: z.string(), value: z.string().default("") });
export type Pair = z.infer<typeof Pair>;

export const RunStatus = z.enum(["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"]);
export type RunStatus = z.infer<typeof RunStatus>;

const RunInfo = z.object({
  run_id: z.string(),
  run_name: z.string().default(""),
  experiment_id: z.string(),
  status: RunStatus,
  start_time: Whole.nullish(),
  end_time: Whole.nullish(),
  artifact_uri: z.string().default(""),
  lifecycle_stage: z.string().default("active"),
});

const DatasetInput = z.object({
  tags: z.array(Pair).default([]),
  dataset: z.object({
    name: z.string(),
    digest: z.string(),
    source_type: z.string().default(""),
    source: z.string().default(""),
  }),
});

export const Run = z.object({
  info: RunInfo,
  data: z.object({
    metrics: z.array(MetricPoint).default([]),
    params: z.array(Pair).default([]),
    tags: z.array(Pair).default([]),
  }).default({ metrics: [], params: [], tags: [] }),
  inputs: z.object({ dataset_inputs: z.array(DatasetInput).default([]) }).default({
    dataset_inputs: [],
  }),
});
export type Run = z.infer<typeof Run>;

export const Experiment = z.object({
  experiment_id: z.string(),
  name: z.string(),
  artifact_location: z.string().default(""),
  creation_time: Whole.nullish(),
  lifecycle_stage: z.string().default("active"),
});
export type Experiment = z.infer<typeof Experiment>;

export const ExperimentAnswer = z.object({ experiment: Experiment });
export const ExperimentCreated = z.object({ experiment_id: z.string() });
export const ExperimentsFound = z.object({
  experiments: z.array(Experiment).default([]),
  next_page_token: z.string().optional(),
});
export const RunAnswer = z.object({ run: Run });
export const RunsFound = z.object({
  runs: z.array(Run).default([]),
  next_page_token: z.string().optional(),
});
export const MetricHistory = z.object({
  metrics: z.array(MetricPoint).default([]),
  next_page_token: z.string().optional(),
});

export const FileInfo = z.object({
  path: z.string(),
  is_dir: z.boolean().default(false),
  file_size: Whole.nullish(),
});
export type FileInfo = z.infer<typeof FileInfo>;
export const FilesFound = z.object({
  root_uri: z.string().default(""),
  files: z.array(FileInfo).default([]),
  next_page_token: z.string().optional(),
});

export const LoggedModel = z.object({
  info: z.object({
    model_id: z.string(),
    name: z.string().default(""),
    artifact_uri: z.string().default(""),
    status: z.string().default(""),
  }),
});
export type LoggedModel = z.infer<typeof LoggedModel>;
export const LoggedModelAnswer = z.object({ model: LoggedModel });
export const LoggedModelsFound = z.object({ models: z.array(LoggedModel).default([]) });

export const ModelVersion = z.object({
  name: z.string(),
  version: z.string(),
  source: z.string().default(""),
  run_id: z.string().default(""),
  tags: z.array(Pair).default([]),
  aliases: z.array(z.string()).default([]),
});
export type ModelVersion = z.infer<typeof ModelVersion>;
export const ModelVersionAnswer = z.object({ model_version: ModelVersion });
export const ModelVersionsFound = z.object({
  model_versions: z.array(ModelVersion).default([]),
  next_page_token: z.string().optional(),
});

/** Answers of which nothing is needed. */
export const Anything = z.looseObject({});

/** How MLflow says what it did not do. */
export const ErrorAnswer = z.object({ error_code: z.string(), message: z.string().default("") });
