import {
  LIMIT_OPTIONS,
  type LimitName,
  type StudyLimits,
  type StudyRequestInput,
  UsageError,
} from "../../core/mod.ts";
import { checkStudy } from "../check_study.ts";
import {
  parseDuration,
  parseObjectives,
  parsePositive,
  parseTaskWeights,
  parseWhole,
} from "./input/parse_values.ts";
import { parseSampleCounts, parseSampling } from "./input/parse_samples.ts";

/** The options of `pare run` as commander hands them over: words, not yet checked. */
export interface RunOptions {
  model?: string;
  dataset?: string;
  budget?: string;
  gpuHours?: string;
  maxTrials?: string;
  maxFullEvaluations?: string;
  convergenceEpisodes?: string;
  maxVram?: string;
  maxAccuracyDrop?: string;
  maxLatency?: string;
  maxSize?: string;
  objectives?: string;
  front?: string;
  target?: string;
  seed?: string;
  dataDir?: string;
  trainingData?: string;
  methods?: string;
  runtime?: string;
  plugin?: string[];
  proxySamples?: string;
  fullSamples?: string;
  sampling?: string;
  taskWeights?: string;
  country?: string;
  answerChars?: string;
  stallMinutes?: string;
  trustRemoteCode?: boolean;
  samplesPerProblem?: string;
  unsafeCode?: boolean;
  trustTaskCode?: boolean;
  limit?: string;
  fidelity?: string;
  offline?: boolean;
  /** True where `--no-earlier-studies` is not given. */
  earlierStudies?: boolean;
}

function optional<T>(text: string | undefined, parse: (text: string) => T): T | undefined {
  return text === undefined ? undefined : parse(text);
}

function withoutUndefined<T extends Record<string, unknown>>(record: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}

function constraintsOf(options: RunOptions) {
  return withoutUndefined({
    max_accuracy_drop: optional(options.maxAccuracyDrop, (text) => {
      const drop = Number(text);
      if (text.trim() === "" || !(drop >= 0 && drop <= 1)) {
        throw new UsageError(
          `Cannot take --max-accuracy-drop as a share from 0 to 1: current value is "${text}"`,
        );
      }
      return drop;
    }),
    max_vram_gb: optional(options.maxVram, (text) => parsePositive(text, "--max-vram")),
    max_latency_ms: optional(options.maxLatency, (text) => parsePositive(text, "--max-latency")),
    max_size_gb: optional(options.maxSize, (text) => parsePositive(text, "--max-size")),
  });
}

/** The sampling of `--sampling` with the limit of `--limit`; undefined: neither is given. */
function samplingOf({ sampling, limit }: RunOptions) {
  const given = optional(sampling, parseSampling);
  const count = optional(limit, (text) => parseWhole(text, "--limit", 1));
  return count === undefined ? given : { ...given, limit: count };
}

/** The limits that options set: of a new study, or anew of one that is taken up. */
export function limitsFromOptions(options: RunOptions): StudyLimits {
  const whole = (text: string | undefined, limit: LimitName) =>
    optional(text, (one) => parseWhole(one, LIMIT_OPTIONS[limit], 1));
  return withoutUndefined({
    budget_seconds: optional(options.budget, (text) => parseDuration(text, "--budget")),
    gpu_hours: optional(options.gpuHours, (text) => parsePositive(text, "--gpu-hours")),
    max_trials: whole(options.maxTrials, "max_trials"),
    max_full_evaluations: whole(options.maxFullEvaluations, "max_full_evaluations"),
    convergence_episodes: whole(options.convergenceEpisodes, "convergence_episodes"),
  });
}

/** The study that options describe; fields of `base` (a document) stand where no option is given. */
export function studyFromOptions(options: RunOptions, base: Partial<StudyRequestInput> = {}) {
  const given = withoutUndefined({
    model_name: options.model,
    dataset: options.dataset,
    ...limitsFromOptions(options),
    objectives: optional(options.objectives, parseObjectives),
    front: options.front?.split(",").map((name) => name.trim()),
    sampling: samplingOf(options),
    fidelity: options.fidelity,
    offline: options.offline,
    earlier_studies: options.earlierStudies === false ? false : undefined,
    task_weights: optional(options.taskWeights, parseTaskWeights),
    country: options.country,
    answer_chars: optional(options.answerChars, (text) => parseWhole(text, "--answer-chars", 0)),
    stall_minutes: optional(
      options.stallMinutes,
      (text) => parsePositive(text, "--stall-minutes"),
    ),
    target: options.target,
    seed: optional(options.seed, (text) => parseWhole(text, "--seed", 0)),
    data_dir: options.dataDir,
    training_data: options.trainingData,
    methods: options.methods?.split(",").map((name) => name.trim()),
    runtime: options.runtime,
    plugins: options.plugin,
    trust_remote_code: options.trustRemoteCode,
    samples_per_problem: optional(
      options.samplesPerProblem,
      (text) => parseWhole(text, "--samples-per-problem", 10),
    ),
    allow_unsafe_code: options.unsafeCode,
    trust_task_code: options.trustTaskCode,
  });
  const samples = parseSampleCounts(options.proxySamples, options.fullSamples);
  const document = {
    ...base,
    ...given,
    constraints: { ...base.constraints, ...constraintsOf(options) },
    samples: {
      ...base.samples,
      ...samples,
      ...(samples.by_task && { by_task: { ...base.samples?.by_task, ...samples.by_task } }),
    },
  };
  if (document.model_name === undefined || document.dataset === undefined) {
    throw new UsageError(
      "Cannot start a study without a model and a dataset: give --model NAME|PATH and " +
        "--dataset NAME|FILE.jsonl, or a study.json that holds model_name and dataset",
    );
  }
  return checkStudy(document, "study");
}
