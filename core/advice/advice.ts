import type { Facts } from "../schemas/facts.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { StopReason } from "../schemas/journal.ts";
import type { RunRequest, StudyLimits } from "../schemas/request.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict, Trial } from "../schemas/trial.ts";
import { DEFAULT_FULL_EVALUATIONS, LIMIT_OPTIONS, type LimitName } from "../spec/limits.ts";
import { onRung } from "../schemas/rungs.ts";
import { isQuality, PERPLEXITY_RISE_PER_ACCURACY_DROP } from "../evidence/constraints.ts";
import {
  aimedMetric,
  inLimitUnit,
  limitedTask,
  limitUnit,
  limitWords,
} from "../metrics/metric_words.ts";
import { samplesToTake } from "./samples_to_take.ts";
import { looksViolated, nameOf, shown, violations } from "./verdicts.ts";

/** What advice is drawn from. Every sentence of it names what a user can type. */
export interface AdviceInput {
  /** How it ended, in a sentence; undefined: nobody said. */
  readonly message: string | undefined;
  readonly spec: Spec;
  readonly facts: Facts;
  readonly stop: StopReason;
  /** Null: the original is kept. */
  readonly chosen: Trial | null;
  /** Every trial but the baseline. */
  readonly compressed: readonly Trial[];
  readonly study_id: string;
  /** What was asked for; undefined: its limits are not known. */
  readonly request: RunRequest | undefined;
  /** The original has no right answer itself: nothing tells what a compression costs. */
  readonly tells_nothing: boolean;
}

/** What would decide an undecided constraint, as the end of a sentence. */
export function whatDecides(verdict: ConstraintVerdict, trial: Trial, spec: Spec): string {
  if (!isQuality(verdict)) return "timed again in a new study on a quieter machine, it may decide";
  if (!isDecisive(trial.fidelity)) return "a full evaluation may decide it";
  const samples = samplesToTake(verdict, trial, spec);
  if (samples === null) {
    return verdict.interval === null
      ? "too few samples for an interval"
      : "its estimate lies on the threshold, which no number of samples decides";
  }
  if (samples.by_task === null) {
    return `all ${samples.existing} samples that exist would not decide it`;
  }
  const bound = samples.existing === null ? " where so many exist" : "";
  return `about ${samples.total} samples would decide${bound}`;
}

/** What to try next, a sentence each. */
export function whatNext(input: AdviceInput): string[] {
  const { spec, facts, compressed } = input;
  const next = input.tells_nothing
    ? ["Measure on a dataset of which the original gets some answers right, or on more samples."]
    : [];
  next.push(...moreSamples(input), ...looserThreshold(compressed), ...fullEvaluations(input));
  next.push(...largerLimit(input));
  const gpu = spec.methods.filter((verdict) => !verdict.supported && /GPU/.test(verdict.reason));
  if (gpu.length > 0 && facts.device.device === "cpu") {
    next.push(`Run on a GPU to try ${gpu.map((verdict) => verdict.method).join(", ")}.`);
  }
  return next;
}

/** A study's samples are fixed when it opens: more of them are another study's. */
function moreSamples({ spec, chosen, compressed, request }: AdviceInput): string[] {
  const doubtful = [...(chosen === null ? [] : [chosen]), ...compressed.filter(looksViolated)];
  for (const trial of doubtful) {
    for (const verdict of trial.constraints.filter(isQuality)) {
      const samples = samplesToTake(verdict, trial, spec);
      if (samples === null) continue;
      const what = `the ${limitWords(verdict.constraint)} of ${nameOf(trial)}`;
      if (samples.by_task === null) {
        return [
          `Add another benchmark to --dataset in a new study to decide ${what}: all ` +
          `${samples.existing} samples that exist would not.`,
        ];
      }
      const counts = Object.entries(samples.by_task).map(([task, count]) => `${task}=${count}`);
      const exist = samples.existing === null ? ", if so many exist" : "";
      return [
        `Begin a new study with --full-samples ${counts.join(",")}${withoutLimits(request)} to ` +
        `decide ${what}: about ${samples.total} samples would${exist}, and those of this study ` +
        "are fixed.",
      ];
    }
  }
  return [];
}

/** A limit on all samples stands above `--full-samples`. */
function withoutLimits(request: RunRequest | undefined): string {
  const { limit, total_limit, limit_per_task, by_task } = request?.sampling ?? {};
  const limits = [limit, total_limit, limit_per_task, by_task].some((one) => one !== undefined);
  return limits ? " and without its limits of samples" : "";
}

/** Beyond so many thresholds a miss is no near one, and no advice follows from it. */
const NEAR = 3;

/** The violating trial closest to its quality threshold: what a looser threshold would allow. */
function looserThreshold(compressed: readonly Trial[]): string[] {
  const missed = compressed.flatMap((trial) => {
    const verdict = violations(trial).find(isQuality);
    const near = verdict !== undefined && verdict.value !== null &&
      verdict.value <= NEAR * verdict.threshold;
    return near ? [{ trial, verdict }] : [];
  }).sort((a, b) => a.verdict.value! - b.verdict.value!)[0];
  if (missed === undefined) return [];
  const { trial, verdict } = missed;
  // A study has one threshold, of accuracy, beside those of tasks: that of perplexity follows from it.
  const scale = verdict.constraint === "max_perplexity_rise"
    ? PERPLEXITY_RISE_PER_ACCURACY_DROP
    : 1;
  const wanted = Math.min(1, Math.ceil(1e4 * verdict.value! / scale - 1e-9) / 1e4);
  const task = limitedTask(verdict.constraint);
  const figure = (one: number) => shown(inLimitUnit(verdict.constraint, one));
  const aimed = aimedMetric(verdict.constraint);
  const limit = aimed !== null
    ? `--goals ${aimed}=-${aimed === "perplexity" ? `${100 * wanted}%` : wanted}`
    : task === null
    ? `--max-accuracy-drop ${wanted}`
    : `--max-task-drop ${task}=${wanted}`;
  return [
    `A new study with ${limit} would admit ${nameOf(trial)}: its ` +
    `${limitWords(verdict.constraint)} is ${figure(verdict.value!)} against ${
      figure(verdict.threshold)
    }${limitUnit(verdict.constraint)}; or ` +
    "try it with gentler parameters.",
  ];
}

/** Trials that the number of full evaluations or the time kept from theirs. */
function fullEvaluations(input: AdviceInput): string[] {
  const { compressed, request, stop } = input;
  const waiting = compressed.filter((trial) =>
    trial.state === "completed" && trial.fidelity !== null && !isDecisive(trial.fidelity) &&
    violations(trial).length === 0
  );
  if (waiting.length === 0) return [];
  const words = [...new Set(waiting.map(({ fidelity }) => onRung(fidelity!)))].join(" and ");
  const names = `${waiting.map(nameOf).join(", ")} ${waiting.length === 1 ? "was" : "were"} ` +
    `evaluated ${words} only`;
  if (request?.fidelity !== undefined) {
    return [
      `Leave --fidelity ${request.fidelity} out in a new study: ${names}, which claims no front.`,
    ];
  }
  const full = compressed.filter((trial) => isDecisive(trial.fidelity)).length;
  const cap = request?.max_full_evaluations ?? DEFAULT_FULL_EVALUATIONS;
  // Fewer were taken than there might be, and there was time: those left cannot reach the front.
  if (full < cap && stop !== "budget") return [];
  const limit = full < cap ? "budget_seconds" : "max_full_evaluations";
  return [
    `${resumeWith(input, limit)} to evaluate in full what may reach the front: ${names}.`,
  ];
}

/** The limit whose end a stop is; undefined: no limit's. */
export const LIMIT_BEHIND: Readonly<Partial<Record<StopReason, LimitName>>> = {
  budget: "budget_seconds",
  gpu_hours: "gpu_hours",
  joules: "budget_joules",
  max_trials: "max_trials",
};

/** What a limit is on, in a sentence. */
const LIMIT_WORDS: Readonly<Record<LimitName, string>> = {
  budget_seconds: "time it had",
  gpu_hours: "GPU hours it had",
  budget_joules: "energy it had",
  max_trials: "number of trials",
  max_full_evaluations: "number of full evaluations",
  convergence_episodes: "episodes without a gain",
  least_gain_per_hour: "least gain an hour",
};

function largerLimit(input: AdviceInput): string[] {
  const { stop, message } = input;
  // What ended it knew with which options it ran.
  if (stop === "cancelled") {
    return [message ?? `Go on by \`${goOn(input)}\`: the study was cancelled.`];
  }
  const limit = LIMIT_BEHIND[stop];
  return limit === undefined ? [] : [
    `${resumeWith(input, limit)} to go on: it ended by the ${
      LIMIT_WORDS[limit]
    }, not for lack of ideas.`,
  ];
}

function resumeWith(input: AdviceInput, limit: LimitName): string {
  return `Resume it by ${resumeCommand(input, input.request, limit)}`;
}

/** A study that somebody may go on with, and by which command, where it is not the usual one. */
interface GoesOn {
  readonly study_id: string;
  readonly go_on?: string | undefined;
}

/** The command that goes on with a study. */
export function goOn({ study_id, go_on }: GoesOn): string {
  return go_on ?? `npx -y deno task pare resume ${study_id}`;
}

/** The command that resumes a study with twice of a limit. */
export function resumeCommand(
  study: GoesOn,
  request: StudyLimits | undefined,
  limit: LimitName,
): string {
  const usual = limit === "max_full_evaluations" ? DEFAULT_FULL_EVALUATIONS : undefined;
  const now = request?.[limit] ?? usual;
  const value = now === undefined ? "…" : limit === "budget_seconds" ? time(2 * now) : 2 * now;
  return `\`${goOn(study)} ${LIMIT_OPTIONS[limit]} ${value}\``;
}

/** Seconds as `--budget` takes them. */
function time(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
