import type { z } from "zod";
import type { Action, KnobValue } from "../schemas/action.ts";
import type { DataKind } from "../schemas/artifact.ts";
import type { Facts } from "../schemas/facts.ts";
import type { GroupMember } from "../schemas/data/found_task.ts";
import type { SampleResult } from "../schemas/measurement.ts";
import type {
  Answer,
  EarlierTrial,
  FormatLoss,
  MethodBelief,
  SearchBudget,
} from "../schemas/proposal.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import type { Suggesting } from "../ports.ts";
import type { Effect, KeptCache, Leaves, Order, Support } from "./change.ts";
import type { Knobs, ParamsOf, SomeParamsOf } from "./knobs.ts";
import type { Runtime } from "./runtime.ts";
import type { Scorer, TaskScorer } from "./scorer.ts";
import type { Consultation, Reading, TrialCost, TrialUnderWay } from "./shown.ts";

/** How daring a seed strategy is. */
export type Boldness = "conservative" | "balanced" | "aggressive";

/** How a trial ended, as far as what to try next depends on it: quality fell too far, or did not. */
export type Finding = "lost" | "kept";

/** What a sentence of advice is about: quality that was lost, or memory that was exceeded. */
export type HintAbout = "quality" | "memory";

/**
 * One method of an agent: its Python half is the file of the same name. `facts` are always those of
 * the model that the action will meet, after the actions before it in the chain.
 */
export interface Method<K extends Knobs = Knobs> {
  readonly kind: "method";
  readonly name: string;
  /** One line, present tense; shown in reports. */
  readonly summary: string;
  /** Other projects' tools that users may ask for, with what to ask for here: ends a sentence. */
  readonly named_for?: Readonly<Record<string, string>>;
  /** Other documents' names of what none of its knobs is alone, with what to set: ends a sentence. */
  readonly knobs_named_for?: Readonly<Record<string, string>>;
  readonly knobs: K;
  readonly needs: {
    /** Folder under `python-backends/envs/`, or under `envs/` of the agent's own `python_dir`. */
    readonly environment: string;
    /** Environment of a program that it runs in a process beside: offered where that is made. */
    readonly tool?: string;
    /** The text that it works on: windows that share nothing with evaluated samples. How many, and
     * how long, its knobs say that `takes` marks; else all there are. Absent: it works without. */
    readonly data?: DataKind;
    /** It learns from the study's uncompressed model, which is a part of what its key hashes. */
    readonly teacher?: true;
    /** It leads back to what rounding or pruning changed: the model before the latest such actions in
     * a row, a trained or cut one where the chain made one, which is a part of what its key hashes. */
    readonly reference?: true;
    /** It takes a checkpoint that the user gave, which its knobs name by its content: no search
     * proposes it. */
    readonly given?: true;
    /** It finds again what it rounded for another action: files named by all they depend on. */
    readonly keeps_layers?: true;
    /** Variable of the environment in which users name Python files and modules of their own that it may
     * run: what is in these files is a part of what its key hashes. Nothing else is ever run. */
    readonly own_code?: string;
    readonly gpu: boolean;
  };
  /** What these parameters leave: a number for everything, also where `accepts` refuses them. */
  leaves(params: ParamsOf<K>, facts: Facts): Leaves;
  /** What it may follow and precede on the parts that it changes. */
  readonly order: Order;
  /** What tells these parameters from others, in words for names and tables: "4-bit", "g64". */
  label?(params: ParamsOf<K>): readonly string[];
  /** What names a trial of these parameters alone, such as the file that was given; absent: method
   * and label do. */
  title?(params: ParamsOf<K>): string;
  /** What to do where quality was lost or memory exceeded, as a sentence without a full stop. */
  hint?(about: HintAbout, params: ParamsOf<K>): string | null;
  /** Whether the method itself can work on this model and machine. */
  supports(facts: Facts): Support;
  /** Whether these parameters can: a group that does not divide, a grid the weights lie on. */
  accepts(params: ParamsOf<K>, facts: Facts): Support;
  /** Why knobs go together on no model at all, or on none that reads so many tokens, as far as they are
   * given: said before one is read. */
  clash?(given: Partial<ParamsOf<K>>, reads?: number): string | null;
  /** Values for knobs left to `"auto"`, with a reason each; knobs not named take the default. */
  auto?(facts: Facts): Record<string, { value: number | string | boolean; reason: string }>;
  /** Parameters of a first try; null where the method has none to offer at that boldness. */
  seed(boldness: Boldness, facts: Facts): SomeParamsOf<K> | null;
  /** What it would try after a trial with these parameters; null where it has nothing to say. */
  next(params: ParamsOf<K>, finding: Finding, facts: Facts): ParamsOf<K> | null;
  /**
   * Of the cache: knobs that keep so many tokens a head; below 1, that share of a prompt. What they name
   * stands above `set`, knobs that somebody chose beside the budget.
   */
  keeping?(budget: number, set?: SomeParamsOf<K>): SomeParamsOf<K> | { readonly refused: string };
  /** Of the cache: what stays of a prompt of so many tokens; absent: what `leaves` says. */
  keeps?(params: ParamsOf<K>, tokens: number, facts: Facts): KeptCache;
  /** Rough seconds for this model here; the loop asks before it spends a budget. */
  estimateSeconds(params: ParamsOf<K>, facts: Facts): number;
  /** How many times as long as others an evaluation with these parameters takes; absent: as long. */
  slowness?(params: ParamsOf<K>): number;
  /** Host or GPU bytes that it needs at its peak: checked before any work. */
  estimateMemory(params: ParamsOf<K>, facts: Facts): number;
}

/** How weights lie in a file: its Python half, of the same name, reads and writes them. */
export interface Form {
  readonly kind: "form";
  readonly name: string;
  /** One line; shown in reports. */
  readonly summary: string;
}

/** What a dataset's name stands for: its class, and the benchmarks that its set asks for. */
export interface BenchmarkSet {
  /** Names that a user may give, in any spelling of case and separators. */
  readonly datasets: readonly string[];
  readonly dataset_class: Spec["dataset_class"];
  /** Task names; those that no plugin offers are reported as missing. */
  readonly tasks: readonly string[];
  /** How much a task counts in the mean where that is not 1: parts of one benchmark share its 1. */
  readonly weights?: Readonly<Record<string, number>>;
  /** Why a task that no plugin offers cannot be had; without one it is not there yet. */
  readonly reasons?: Readonly<Record<string, string>>;
}

/**
 * How an agent wins back what others cost: after a trial that lost too much quality, the same recipe
 * with this action in it is proposed, once.
 */
export interface Recovery {
  /** A recipe is recovered where one of its actions has one of these effects, and none trains yet. */
  readonly after: readonly Effect[];
  /** The agent's own method and its parameters; those left out take their defaults. */
  readonly method: string;
  readonly params: Readonly<Record<string, KnobValue>>;
  /** Why it may help, as the end of a sentence: "low-rank factors win back what a cut took". */
  readonly reason: string;
}

/** A group of methods; built-in ones are the files of one folder under `plugins/`. */
export interface Agent {
  readonly kind: "agent";
  readonly name: string;
  readonly summary: string;
  /** Given by a third party; built-in agents' methods are found in their folder. */
  readonly methods?: readonly Method[];
  /**
   * A third party's Python half: absolute path of a folder with one .py file per method. Folders under
   * its `envs/` hold the pins of environments of its own, as those of `python-backends/envs/` do.
   */
  readonly python_dir?: string;
  /** Its methods to try first, best first: for models above 10 GB at 16 bits and for the others. */
  readonly preferred?: { readonly large: readonly string[]; readonly small: readonly string[] };
  /** How it wins back quality that a recipe lost; tried in this order. */
  readonly recovers?: readonly Recovery[];
  /** The benchmark sets that it knows; a set may name tasks that do not exist yet. */
  readonly benchmark_sets?: readonly BenchmarkSet[];
}

/** A benchmark. Everything lm-eval needs, and everything a comparison needs. */
export interface Task {
  readonly kind: "task";
  readonly name: string;
  readonly version: string;
  readonly summary: string;
  /** What scores its answers; the first gives the task's own figure. */
  readonly scorers: readonly TaskScorer[];
  readonly lm_eval_task: string | null;
  /** An lm-eval task document; used where the data are local files or the task is pare's own. */
  readonly definition: Record<string, unknown> | null;
  /** Under `--data-dir`, such as arc_challenge/test.jsonl.gz; or shipped, as a file URL. */
  readonly data_file: string | null;
  readonly shipped: boolean;
  readonly few_shot: number;
  readonly metric: string;
  /**
   * What its figure is, by the table of metrics (core/metrics), which says unit, direction and scale:
   * accuracy, f1, exact_match, perplexity and so on. The mean over tasks is of all from 0 to 1.
   */
  readonly reported_metric: string;
  /** Score of guessing; 0 where there is none; null: nobody said. */
  readonly chance: number | null;
  readonly proxy_samples: number;
  readonly full_samples: number | null;
  /** Its rows are a text, read in windows of so many tokens; null: its rows are asked. */
  readonly window_tokens: number | null;
  /** Words of a dataset's name that choose this task, such as gsm8k or demo. */
  readonly datasets: readonly string[];
  /** Its answers are generated, where its definition's own lines do not say so. */
  readonly generates?: true;
  /** Its answers are programs, which are run: that needs a sandbox. */
  readonly runs_code?: true;
  /** What a study may set of how its rows are made and asked: fields of its definition's generator. */
  readonly settings?: z.ZodObject;
  /** Who defines it; default: the plugin's file. A task of lm-eval or a task file is no plugin. */
  readonly origin?: "plugin" | "lm_eval" | "file";
  /** SPDX name of a licence that lets its texts be passed on; absent: none is known to. */
  readonly licence?: string;
  /** The groups of lm-eval by whose names it was asked for. */
  readonly member_of?: readonly GroupMember[];
}

/** What a sampler sees when it is asked for the next strategy. */
export interface SearchContext {
  readonly facts: Facts;
  readonly spec: Spec;
  readonly methods: readonly { agent: string; method: Method }[];
  /** What the agents declare to win back lost quality with; `recoveryOf` makes recipes of it. */
  readonly recoveries: readonly ({ agent: string } & Recovery)[];
  /** Closed trials, and those that are held, as results of the rung that they reached. */
  readonly trials: readonly Trial[];
  /** Trial ids of the front, best reward first. */
  readonly front: readonly string[];
  /** Of every trial in `trials`. */
  readonly costs: readonly TrialCost[];
  readonly budget: SearchBudget;
  readonly under_way: readonly TrialUnderWay[];
  /** Trials of earlier studies of the same architecture; empty where none are known or wanted. */
  readonly earlier: readonly EarlierTrial[];
  /** What formats cost the original, by its layers' scores; empty where nobody scored them. */
  readonly format_losses: readonly FormatLoss[];
  /** Seconds that a recipe will take here, without a full evaluation; null where it cannot run. */
  predictSeconds(actions: readonly Action[]): number | null;
  /** Scores on a rung, sample by sample; undefined where the trial was not evaluated there. Default: the highest. */
  samples(trial_id: string, fidelity?: string): readonly SampleResult[] | undefined;
  /** Asks the study's language model, and records question, answer and what the answer was; absent: the
   * study has none. `reply` is null where no answer came. */
  consult?<T>(asked: Consultation<T>): Promise<{ readonly reply: string | null } & Reading<T>>;
  /** Asks a sampler library of the sampler's own environment; absent: none can be asked. */
  suggest?: Suggesting["suggest"];
  /** Aborted when the study is cancelled; a sampler that waits for something gives that up then. */
  readonly signal: AbortSignal;
  /** Of the study: the same at every asking, where `random` goes on. */
  readonly seed: number;
  /** Uniform in [0, 1); the only randomness there is. */
  readonly random: () => number;
}

/** What a belief is made of: the part of a search's context that is history. */
export type BeliefHistory = Pick<
  SearchContext,
  "facts" | "spec" | "methods" | "trials" | "earlier"
>;

/**
 * Proposes one strategy at a time. It keeps nothing between two askings: all state is in the history.
 * A sampler that asks the outside world may take its time; its answer is recorded, and a study that
 * goes on takes it from there.
 */
export interface Sampler {
  readonly kind: "sampler";
  readonly name: string;
  readonly summary: string;
  /** The environment of the library that it asks: made before a study by it begins. Absent: none. */
  readonly needs?: { readonly environment: string };
  /** What it believes of each method, where its choice rests on that: stored with every episode. */
  beliefs?(history: BeliefHistory): MethodBelief[];
  /** The next recipe, or null when it has nothing left to try. */
  propose(context: SearchContext): Answer | null | Promise<Answer | null>;
}

export type Plugin = Method | Agent | Task | Scorer | Sampler | Runtime | Form;

/** Returns its argument; types its parameters by the knobs that declare them. */
export function defineMethod<const K extends Knobs>(method: Omit<Method<K>, "kind">): Method {
  const made: Method<K> = { kind: "method", ...method };
  // Whoever holds methods of every kind gives each the parameters that its own knobs have checked.
  return made as unknown as Method;
}

/** Returns its argument; lets TypeScript check a form where it is written. */
export function defineForm(form: Omit<Form, "kind">): Form {
  return { kind: "form", ...form };
}

/** Returns its argument; a built-in agent has no `methods`: its folder is the list. */
export function defineAgent(agent: Omit<Agent, "kind">): Agent {
  return { kind: "agent", ...agent };
}

/** Returns its argument; lets TypeScript check a task where it is written. */
export function defineTask(task: Omit<Task, "kind">): Task {
  return { kind: "task", ...task };
}

/** Returns its argument; lets TypeScript check a sampler where it is written. */
export function defineSampler(sampler: Omit<Sampler, "kind">): Sampler {
  return { kind: "sampler", ...sampler };
}
