import { z } from "zod";
import type { Recommendation } from "../advice/recommend.ts";
import type { RunNeeds } from "../contract/run_needs.ts";
import { openStudy } from "../loop/open_study.ts";
import type { Study } from "../loop/study.ts";
import type { StudyInput, StudyPorts, StudyResult } from "../loop/study_input.ts";
import type { RunsMembers } from "./experiments/runs_members.ts";
import type { Action } from "../schemas/action.ts";
import type { Artifact } from "../schemas/artifact.ts";
import type { Endpoint } from "../schemas/endpoint.ts";
import type { Facts } from "../schemas/facts.ts";
import type { Judge } from "../schemas/scoring/judge.ts";
import type { StopReason } from "../schemas/journal.ts";
import { RunRequest } from "../schemas/request.ts";
import type { Rubric } from "../schemas/scoring/rubric.ts";
import type { Spec } from "../schemas/spec.ts";
import type { StageDecision } from "../schemas/stages/decision.ts";
import type { Trial } from "../schemas/trial.ts";
import { inferSpec, type SpecPlugins } from "../spec/infer_spec.ts";
import type { AskedAction } from "../strategies/method_data.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";

/** Parts that reports are made of; a kind says which its own has, and in which order. */
export type ReportPart =
  | "title"
  | "answer"
  | "asked"
  | "assumed"
  | "own" // what its kind alone shows
  | "front"
  | "trials"
  | "comparison"
  | "failures"
  | "decisions"
  | "measured"
  | "limits"
  | "next"
  | "evaluated" // title and end of a model that was only evaluated
  | "scores"
  | "missing"
  | "alerts"
  | "protocol"
  | "model"
  | "samples"
  | "run_again"
  | "time"
  | "cite";

/** What people are shown of a run. */
export interface RunShown {
  /** Its report's parts in the order in which a reader asks. */
  readonly parts: readonly ReportPart[];
  /** What a terminal lists: its trials, the scores of the one model that it has, or what its kind alone shows. */
  readonly rows: "trials" | "scores" | "own";
}

/** What a run of trials shows; one whose kind has nothing of its own leaves that part out. */
export const TRIALS_SHOWN: RunShown = {
  parts: [
    ...["title", "answer", "asked", "assumed", "own", "front", "trials", "comparison"] as const,
    ...["failures", "decisions", "measured", "limits", "next", "run_again", "cite"] as const,
  ],
  rows: "trials",
};

/** How a model is asked where it does not lie here, or is not asked in plain prompts. */
export interface Asking {
  /** Absent: the model lies here. */
  readonly endpoint?: Endpoint | undefined;
  readonly judge?: Judge | undefined;
  /** Further judges, whose majority counts. */
  readonly panel?: Judge[] | undefined;
  readonly chat_template?: boolean;
}

/** Benchmarks as a tracker elsewhere names their figures. */
export interface NamedBenchmarks {
  /** Null: all. */
  readonly core: readonly string[] | null;
  /** The baseline's mean score over these tasks stands under this name, too. */
  readonly groups: readonly { readonly name: string; readonly tasks: readonly string[] }[];
}

/** What a run asks of the world, whatever its kind. */
export interface RunPorts extends StudyPorts {
  /** An artifact's id, reckoned anew from the bytes that lie there; throws where one cannot be read. */
  readonly idOfBytes: (artifact: Artifact) => Promise<string>;
  /** Runs that a run is made of; absent: nothing here runs any. */
  readonly members?: RunsMembers | undefined;
}

/** A run as far as it came, for whoever chooses of it. */
export interface RunSoFar<R extends RunRequest = RunRequest> {
  readonly request: R;
  readonly spec: Spec;
  readonly facts: Facts;
  /** The original as it was measured. */
  readonly baseline: Trial;
  readonly trials: readonly Trial[];
  /** Of a staged run; of others empty. */
  readonly stage_decisions: readonly StageDecision[];
  readonly stop: StopReason;
  /** That, in a sentence; absent: it has not ended. */
  readonly message?: string | undefined;
}

/** A study document as it was written. */
export type WrittenDocument = Readonly<Record<string, unknown>>;

/** What whoever writes a kind says of it; `R` is its document. */
export interface RunKindGiven<R extends RunRequest = RunRequest> {
  /** In a line, for lists. */
  readonly summary: string;
  /** What a run of it does, as words after "it": "only evaluates". */
  readonly does: string;
  /** What its document does when it is run once more: "evaluates anew". */
  readonly does_again: string;
  readonly needs: RunNeeds;
  readonly shown: RunShown;
  /** What follows from a document that is new; default: nothing. What is wrong in it stays wrong. */
  complete?(document: WrittenDocument): WrittenDocument;
  /** What it works to; default: `inferSpec`. */
  spec?(request: R, facts: Facts, plugins: SpecPlugins): Spec;
  /**
   * Actions that its own plan names; default: none. `methods`: it is asked before a model is read, and
   * gives their knobs as far as they are known by then; `reads`: tokens that the model reads, where its
   * config says. @throws UsageError for what no model could run
   */
  actions?(
    request: R,
    methods?: readonly AgentMethod[],
    reads?: number,
  ): readonly AskedAction[];
  /** Recipes that follow from its own plan; default: none. @throws UsageError for one that cannot run here */
  recipes?(
    request: R,
    facts: Facts,
    methods: readonly AgentMethod[],
  ): readonly (readonly Action[])[];
  /** Default: of a model that lies here, in plain prompts. */
  asks?(request: R): Asking;
  /** By which a judge scores every answer that is written; default: where a task says so. */
  rubric?(request: R): Rubric | null;
  /** How its benchmarks are told apart where its figures are kept elsewhere; default: all are the core. */
  benchmarks?(request: R): NamedBenchmarks;
  /** Opens it, or takes it up again, to be driven by its loop or by hand; default: `openStudy`. */
  open?(input: StudyInput & { readonly request: R }, ports: StudyPorts): Promise<Study>;
  /** Runs it to its end, or goes on with one that was stopped. */
  drive(input: StudyInput & { readonly request: R }, ports: RunPorts): Promise<StudyResult>;
  /** What it recommends, as far as it came; null: it never chooses. */
  choose(run: RunSoFar<R>): Recommendation | null;
}

/** A kind of run: everything that the rest of pare asks of it. */
export interface RunKind<R extends RunRequest = RunRequest> extends Required<RunKindGiven<R>> {
  /** In documents, in the journal and in SQL (`studies.kind`). */
  readonly name: R["kind"];
  /** Fields of its own that its documents have beside those of every run. */
  readonly plan: readonly string[];
  /** Its whole document. */
  readonly request: z.ZodObject;
  /** The request as this kind's own. raises: Error where it is another kind's */
  own(request: RunRequest): R;
}

type RequestShape<N extends string, P extends z.ZodRawShape> =
  & Omit<typeof RunRequest.shape, "kind">
  & { kind: z.ZodLiteral<N> }
  & P;

/** The document of a kind: its name, its plan, and what every run may be asked with. */
export type RequestSchema<N extends string, P extends z.ZodRawShape> = z.ZodObject<
  RequestShape<N, P>,
  z.core.$strict
>;

type RequestOf<N extends string, P extends z.ZodRawShape> =
  & z.infer<RequestSchema<N, P>>
  & RunRequest;

type DefinedKind<N extends string, P extends z.ZodRawShape> =
  & Omit<RunKind<RequestOf<N, P>>, "request">
  & { readonly request: RequestSchema<N, P> };

/** A kind of run from its name, its plan (fields of its own) and what it says of itself. */
export function defineKind<const N extends string, P extends z.ZodRawShape>(
  name: N,
  plan: P,
  given: RunKindGiven<RequestOf<N, P>>,
): DefinedKind<N, P> {
  type R = RequestOf<N, P>;
  const { actions = () => [] } = given;
  const request = RunRequest.extend({ kind: z.literal(name), ...plan });
  return {
    complete: (document) => document,
    spec: (asked, facts, plugins) => inferSpec(asked, facts, plugins, { actions: actions(asked) }),
    actions,
    recipes: () => [],
    asks: () => ({}),
    rubric: () => null,
    benchmarks: () => ({ core: null, groups: [] }),
    open: (input, ports) => openStudy(input, ports, given.needs),
    ...given,
    name: name as R["kind"],
    plan: Object.keys(plan),
    request: request as unknown as RequestSchema<N, P>, // zod says the same in other types
    own(asked) {
      if (asked.kind === name) return asked as R; // whoever gave it its kind has checked it
      throw new Error(`Cannot take a run of kind ${asked.kind} as one of kind ${name}`);
    },
  };
}
