import type { Reads, StudyOption } from "../input/study_option.ts";

// `pare --help` reads this file: it imports types alone.

/** Every option of a study, in the order of the help. */
export const STUDY_OPTIONS = [
  {
    flag: "--model <name|path>",
    help: "demo, a checkpoint directory, a GGUF file or a hub name",
    reads: "text",
    field: "model_name",
    of: "task",
  },
  {
    flag: "--dataset <name|file>",
    help: "demo, core, gsm8k,mmlu, any task of lm-eval, own.yaml, own.jsonl; see `pare datasets`",
    reads: "text",
    field: "dataset",
    of: "task",
  },
  {
    flag: "--seed <n>",
    help: "seed of every random choice",
    reads: "whole from 0",
    field: "seed",
    of: "task",
  },
  {
    flag: "--data-dir <dir>",
    help: "benchmark files instead of the hub",
    reads: "text",
    field: "data_dir",
    of: "task",
  },
  {
    flag: "--plugin <path|npm:…>",
    help: "one more plugin; may be repeated",
    reads: "repeated",
    field: "plugins",
    of: "task",
  },
  {
    flag: "--limit <n>",
    help: "samples per task at most: the first n drawn",
    reads: "whole from 1",
    field: "sampling.limit",
    of: "task",
  },
  {
    flag: "--full-samples <n>",
    help: "samples per task in the full evaluation; mmlu=500 for one task",
    reads: "full counts",
    field: "samples",
    of: "task",
  },
  {
    flag: "--sampling <fields>",
    help: "strategy=stratified|random|sequential,total_limit=n,…; gsm8k.limit=n for one task",
    reads: "sampling",
    field: "sampling",
    of: "task",
  },
  {
    flag: "--offline",
    help: "fetch nothing: no model, data or packages",
    reads: "flag",
    field: "offline",
    of: "task",
  },
  {
    flag: "--task-weights <weights>",
    help: "what tasks count in the mean, such as mmlu=2,gsm8k=1",
    reads: "task weights",
    field: "task_weights",
    of: "task",
  },
  {
    flag: "--country <code>",
    help: "whose electricity CO2 is reckoned by, such as DEU; default: world",
    reads: "text",
    field: "country",
    of: "task",
  },
  {
    flag: "--answer-chars <n>",
    help: "characters of each answer that are stored; default: 4000",
    reads: "whole from 0",
    field: "answer_chars",
    of: "task",
  },
  {
    flag: "--stall-minutes <n>",
    help: "a worker silent for so long is ended; default: 30",
    reads: "positive",
    field: "stall_minutes",
    of: "task",
  },
  {
    flag: "--samples-per-problem <n>",
    help: "programs drawn for a problem of HumanEval or MBPP",
    reads: "whole from 10",
    field: "samples_per_problem",
    of: "task",
  },
  {
    flag: "--unsafe-code",
    help: "run the code that a model writes without a sandbox",
    reads: "flag",
    field: "allow_unsafe_code",
    of: "task",
  },
  {
    flag: "--trust-remote-code",
    help: "run the model's own code, which may do anything",
    reads: "flag",
    field: "trust_remote_code",
    of: "task",
  },
  {
    flag: "--trust-task-code",
    help: "run the code that a task file names, which may do anything",
    reads: "flag",
    field: "trust_task_code",
    of: "task",
  },
  {
    flag: "--budget <time>",
    help: "wall time from the baseline on, such as 2h; set-up is not counted",
    reads: "duration",
    field: "budget_seconds",
    of: "limit",
  },
  {
    flag: "--gpu-hours <hours>",
    help: "GPU hours that may be spent",
    reads: "positive",
    field: "gpu_hours",
    of: "limit",
  },
  {
    flag: "--budget-joules <joules>",
    help: "energy from the baseline on; looked at before each trial",
    reads: "positive",
    field: "budget_joules",
    of: "limit",
  },
  {
    flag: "--max-trials <n>",
    help: "trials at most, the baseline not counted",
    reads: "whole from 1",
    field: "max_trials",
    of: "limit",
  },
  {
    flag: "--max-full-evaluations <n>",
    help: "trials evaluated in full at most; default: 8",
    reads: "whole from 1",
    field: "max_full_evaluations",
    of: "limit",
  },
  {
    flag: "--rules <file>",
    help: "what is tried first in which case; default: what `pare rules` prints",
    reads: "rules file",
    field: "rules",
    of: "study",
  },
  {
    flag: "--gates <limits>",
    help: "end trials surely further from the original, such as kl=0.1,flips=0.2,choice_kl=0.05",
    reads: "gates",
    field: "gates",
    of: "study",
  },
  {
    flag: "--gate-actions",
    help: "evaluate and gate after every action of a chain, not after the last alone",
    reads: "flag",
    field: "gate_actions",
    of: "study",
  },
  {
    flag: "--until-decided",
    help: "end an evaluation once its samples show that the allowed drop is exceeded",
    reads: "flag",
    field: "until_decided",
    of: "study",
  },
  {
    flag: "--convergence-episodes <n>",
    help: "end after so many without a gain; default: 6",
    reads: "whole from 1",
    field: "convergence_episodes",
    of: "limit",
  },
  {
    flag: "--least-gain <share>",
    help: "end where the hypervolume rises by less than this share per hour, such as 0.01",
    reads: "positive",
    field: "least_gain_per_hour",
    of: "limit",
  },
  {
    flag: "--max-vram <gb>",
    help: "memory that an artifact may need, in GB",
    reads: "positive",
    field: "constraints.max_vram_gb",
    of: "study",
  },
  {
    flag: "--max-accuracy-drop <share>",
    help: "absolute drop allowed, such as 0.02",
    reads: "share",
    field: "constraints.max_accuracy_drop",
    of: "study",
  },
  {
    flag: "--max-task-drop <shares>",
    help: "what single tasks may lose beside that, such as gsm8k=0.02,mmlu=0.01",
    reads: "task drops",
    field: "constraints.max_task_drops",
    of: "study",
  },
  {
    flag: "--max-latency <ms>",
    help: "milliseconds per generated token",
    reads: "positive",
    field: "constraints.max_latency_ms",
    of: "study",
  },
  {
    flag: "--max-size <gb>",
    help: "bytes on disk, in GB",
    reads: "positive",
    field: "constraints.max_size_gb",
    of: "study",
  },
  {
    flag: "--objectives <weights>",
    help: "such as accuracy=0.6,latency=0.2,size=0.2; also distance, memory, energy, co2",
    reads: "objectives",
    field: "objectives",
    of: "study",
  },
  {
    flag: "--front <metrics>",
    help:
      "what the front is of, such as accuracy,size,memory or kl,latency; default: quality, latency, size",
    reads: "names",
    field: "front",
    of: "study",
  },
  {
    flag: "--target <machine>",
    help: "edge, cloud or a device's name: constraints of that machine",
    reads: "text",
    field: "target",
    of: "study",
  },
  {
    flag: "--methods <names>",
    help: "only these methods, separated by commas",
    reads: "names",
    field: "methods",
    of: "study",
  },
  {
    flag: "--calibration-data <file>",
    help: ".jsonl that methods calibrate on, in the model's language; default: plain English",
    reads: "text",
    field: "calibration_data",
    of: "study",
  },
  {
    flag: "--training-data <file>",
    help: ".jsonl that methods train on; default: the calibration text",
    reads: "text",
    field: "training_data",
    of: "study",
  },
  {
    flag: "--student <model>",
    help: "smaller model with the same tokenizer, which distill may train in the model's place",
    reads: "text",
    field: "student",
    of: "study",
  },
  {
    flag: "--runtime <name>",
    help: "runtime for speed and memory",
    reads: "text",
    field: "runtime",
    of: "study",
  },
  {
    flag: "--sampler <names>",
    help: "who proposes after the first tries, see `pare plugins`; several take turns",
    reads: "text",
    field: "sampler",
    of: "study",
  },
  {
    flag: "--strategist <url>",
    help:
      "an OpenAI-compatible server whose model proposes every second recipe; STRATEGIST_API_KEY",
    reads: "address",
    field: "strategist.base_url",
    of: "study",
  },
  {
    flag: "--strategist-model <name>",
    help: "that server's name of the model; default: the only one that it lists",
    reads: "text",
    field: "strategist.model",
    of: "study",
  },
  {
    flag: "--no-earlier-studies",
    help: "begin with nothing of earlier studies of the architecture, and show samplers none",
    reads: "off",
    field: "earlier_studies",
    of: "study",
  },
  {
    flag: "--proxy-samples <n>",
    help: "samples per task in the proxy evaluation; mmlu=100 for one task",
    reads: "proxy counts",
    field: "samples",
    of: "study",
  },
  {
    flag: "--samples <counts>",
    help:
      "samples per task by rung: proxy=100,half=400,full=2000; mmlu.half=285; before them kl=16: text windows, likelihood=200: of the original's answers; earlier: as an earlier study of this model and data advises",
    reads: "rung counts",
    field: "samples",
    of: "study",
  },
  {
    flag: "--fidelity <rung>",
    help: "evaluate on this rung only: proxy (no front), full (no proxy first) or one between",
    reads: "text",
    field: "fidelity",
    of: "study",
  },
] as const satisfies readonly StudyOption[];

type Camel<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}`
  : S;

type NameOf<Flag extends string> = Flag extends `--no-${infer Name}` ? Camel<Name>
  : Flag extends `--${infer Name} <${string}>` ? Camel<Name>
  : Flag extends `--${infer Name}` ? Camel<Name>
  : never;

type WordsOf<R extends Reads> = R extends "flag" | "off" ? boolean : R extends "repeated" ? string[]
: string;

/** The options of a study as commander hands them over: words, not yet checked. */
export type RunOptions = {
  [Option in (typeof STUDY_OPTIONS)[number] as NameOf<Option["flag"]>]?: WordsOf<Option["reads"]>;
};

/** The flag alone: `--max-vram` of `--max-vram <gb>`. */
export function flagName({ flag }: Pick<StudyOption, "flag">): string {
  return flag.split(" ")[0]!;
}

/** The name that commander gives an option: `maxVram` of `--max-vram <gb>`. */
export function optionName(option: Pick<StudyOption, "flag">): keyof RunOptions {
  const words = flagName(option).replace(/^--(no-)?/, "");
  return words.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()) as keyof RunOptions;
}
