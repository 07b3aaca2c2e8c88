import type { Reads, StudyOption } from "../input/study_option.ts";
import { TASK_OPTIONS } from "./task_options.ts";

// `pare --help` reads this file: beside that of the task options it imports types alone.

/** Every option of a study; the help shows them by their groups. */
export const STUDY_OPTIONS = [
  ...TASK_OPTIONS,
  {
    flag: "--budget <time>",
    help: "wall time from the baseline on, such as 2h; set-up is not counted",
    reads: "duration",
    field: "budget_seconds",
    of: "limit",
    group: "most used",
  },
  {
    flag: "--gpu-hours <hours>",
    help: "GPU hours that may be spent",
    reads: "positive",
    field: "gpu_hours",
    of: "limit",
    group: "effort",
  },
  {
    flag: "--budget-joules <joules>",
    help: "energy from the baseline on; looked at before each trial",
    reads: "positive",
    field: "budget_joules",
    of: "limit",
    group: "effort",
  },
  {
    flag: "--max-trials <n>",
    help: "trials at most, the baseline not counted",
    reads: "whole from 1",
    field: "max_trials",
    of: "limit",
    group: "most used",
  },
  {
    flag: "--max-full-evaluations <n>",
    help: "trials evaluated in full at most; default: 8",
    reads: "whole from 1",
    field: "max_full_evaluations",
    of: "limit",
    group: "effort",
  },
  {
    flag: "--workers <n>",
    help: "trials under way at once, timings still alone; auto: as many as there is room for",
    reads: "whole from 1 or auto",
    field: "workers",
    of: "place",
    group: "effort",
  },
  {
    flag: "--rules <file>",
    help: "what is tried first in which case; default: what `pare rules` prints",
    reads: "rules file",
    field: "rules",
    of: "study",
    group: "search",
  },
  {
    flag: "--gates <limits>",
    help: "end trials surely further from the original, such as kl=0.1,flips=0.2,choice_kl=0.05",
    reads: "gates",
    field: "gates",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--gate-actions",
    help: "evaluate and gate after every action of a chain, not after the last alone",
    reads: "flag",
    field: "gate_actions",
    of: "study",
    group: "effort",
  },
  {
    flag: "--until-decided",
    help: "end an evaluation once its samples show that the allowed drop is exceeded",
    reads: "flag",
    field: "until_decided",
    of: "study",
    group: "effort",
  },
  {
    flag: "--convergence-episodes <n>",
    help: "end after so many without a gain; default: 6",
    reads: "whole from 1",
    field: "convergence_episodes",
    of: "limit",
    group: "effort",
  },
  {
    flag: "--least-gain <share>",
    help: "end where the hypervolume rises by less than this share per hour, such as 0.01",
    reads: "positive",
    field: "least_gain_per_hour",
    of: "limit",
    group: "effort",
  },
  {
    flag: "--max-vram <gb>",
    help: "memory that an artifact may need, in GB",
    reads: "positive",
    field: "constraints.max_vram_gb",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--max-accuracy-drop <share>",
    help: "absolute drop allowed, such as 0.02",
    reads: "share",
    field: "constraints.max_accuracy_drop",
    of: "study",
    group: "most used",
  },
  {
    flag: "--max-task-drop <shares>",
    help: "what single tasks may lose beside that, such as gsm8k=0.02,mmlu=0.01",
    reads: "task drops",
    field: "constraints.max_task_drops",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--goals <goals>",
    help:
      "against the original, by metric or task: latency=+30%,accuracy=-2% is at least 30 % less latency and at most 2 % less accuracy",
    reads: "goals",
    field: "constraints.goals",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--max-latency <ms>",
    help: "milliseconds per generated token",
    reads: "positive",
    field: "constraints.max_latency_ms",
    of: "study",
    group: "most used",
  },
  {
    flag: "--max-size <gb>",
    help: "bytes on disk, in GB",
    reads: "positive",
    field: "constraints.max_size_gb",
    of: "study",
    group: "most used",
  },
  {
    flag: "--max-kv-gb <gb>",
    help: "bytes that keys and values may take at --context, in GB",
    reads: "positive",
    field: "constraints.max_kv_gb",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--context <tokens>",
    help:
      "length of a prompt, such as 8k: memory is weights and cache at it, and both are searched together",
    reads: "context",
    field: "context_tokens",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--objectives <weights>",
    help: "such as accuracy=0.6,latency=0.2,size=0.2; also distance, memory, energy, co2",
    reads: "objectives",
    field: "objectives",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--front <metrics>",
    help:
      "what the front is of, such as accuracy,size,memory or kl,latency; default: quality, latency, size",
    reads: "names",
    field: "front",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--target <machine>",
    help: "edge, cloud or a device's name: constraints of that machine",
    reads: "text",
    field: "target",
    of: "study",
    group: "limits and aims",
  },
  {
    flag: "--methods <names>",
    help: "only these methods, separated by commas",
    reads: "names",
    field: "methods",
    of: "study",
    group: "most used",
  },
  {
    flag: "--candidates <checkpoints...>",
    help: "try exactly these, made elsewhere: GGUF files, directories, hub names",
    reads: "checkpoints",
    field: "strategies",
    of: "study",
    group: "search",
  },
  {
    flag: "--calibration-data <file>",
    help: ".jsonl that methods calibrate on, in the model's language; default: plain English",
    reads: "text",
    field: "calibration_data",
    of: "study",
    group: "search",
  },
  {
    flag: "--training-data <file>",
    help: ".jsonl that methods train on; default: the calibration text",
    reads: "text",
    field: "training_data",
    of: "study",
    group: "search",
  },
  {
    flag: "--student <model>",
    help: "smaller model with the same tokenizer, which distill may train in the model's place",
    reads: "text",
    field: "student",
    of: "study",
    group: "search",
  },
  {
    flag: "--runtime <name>",
    help: "runtime for speed and memory",
    reads: "text",
    field: "runtime",
    of: "study",
    group: "most used",
  },
  {
    flag: "--sampler <names>",
    help:
      "who proposes after the first tries, see `pare plugins`; several take turns; default: auto",
    reads: "text",
    field: "sampler",
    of: "study",
    group: "search",
  },
  {
    flag: "--strategist <url>",
    help:
      "an OpenAI-compatible server whose model proposes every second recipe; STRATEGIST_API_KEY",
    reads: "address",
    field: "strategist.base_url",
    of: "study",
    group: "search",
  },
  {
    flag: "--strategist-model <name>",
    help: "that server's name of the model; default: the only one that it lists",
    reads: "text",
    field: "strategist.model",
    of: "study",
    group: "search",
  },
  {
    flag: "--no-earlier-studies",
    help: "begin with nothing of earlier studies of the architecture, and show samplers none",
    reads: "off",
    field: "earlier_studies",
    of: "study",
    group: "search",
  },
  {
    flag: "--proxy-samples <n>",
    help: "samples per task in the proxy evaluation; mmlu=100 for one task",
    reads: "proxy counts",
    field: "samples",
    of: "study",
    group: "samples",
  },
  {
    flag: "--samples <counts>",
    help:
      "samples per task by rung: proxy=100,half=400,full=2000; mmlu.half=285; before them kl=16: text windows, likelihood=200: of the original's answers; earlier: as an earlier study of this model and data advises",
    reads: "rung counts",
    field: "samples",
    of: "study",
    group: "samples",
  },
  {
    flag: "--fidelity <rung>",
    help: "evaluate on this rung only: proxy (no front), full (no proxy first) or one between",
    reads: "text",
    field: "fidelity",
    of: "study",
    group: "samples",
  },
] as const satisfies readonly StudyOption[];

type Camel<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}`
  : S;

type NameOf<Flag extends string> = Flag extends `--no-${infer Name}` ? Camel<Name>
  : Flag extends `--${infer Name} <${string}>` ? Camel<Name>
  : Flag extends `--${infer Name}` ? Camel<Name>
  : never;

type WordsOf<R extends Reads> = R extends "flag" | "off" ? boolean
  : R extends "repeated" | "checkpoints" ? string[]
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
