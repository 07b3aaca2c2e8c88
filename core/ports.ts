import type { ResolvedAction } from "./schemas/action.ts";
import type { Artifact } from "./schemas/artifact.ts";
import type { RefusedTask } from "./schemas/endpoint.ts";
import type { ChatMessage } from "./schemas/proposal.ts";
import type { Failure } from "./schemas/failure.ts";
import type { JournalRecord } from "./schemas/journal.ts";
import type { Measurement, SampleResult } from "./schemas/measurement.ts";
import type { CallRequest, CallResult } from "./calls/calls.ts";
import type { Span } from "./schemas/trial.ts";

/** What a port gives back: the value, or a failure under its own name. Never a throw. */
export type Outcome<T> =
  | { ok: true; value: T; spans: Span[] }
  | { ok: false; failure: Failure; spans: Span[] };

/** Quality of an artifact on one rung. */
export interface Evaluation {
  measurements: Measurement[];
  samples: SampleResult[];
  /** Task to hash of its protocol; only equal hashes may be compared. */
  protocol: Record<string, string>;
  /** Task to what its hash is over, by name; absent: not kept. */
  protocol_parts?: Record<string, Record<string, string>> | undefined;
  /** Tasks that could not be measured while others were. */
  refused?: RefusedTask[];
}

/** Row numbers by task. */
export type RowsByTask = Readonly<Record<string, readonly number[]>>;

/** A part of a rung's samples, read before all of them are. */
export interface Look {
  /** Null: all of the rung's. */
  readonly rows: RowsByTask | null;
  /** What earlier looks have read: their answers are taken over. */
  readonly before: readonly RowsByTask[];
}

/** Runs what is timed with no other call of the study beside it on its device, once that is free. */
export type Alone = <T>(work: () => Promise<T>) => Promise<T>;

/** Speed, memory and energy of an artifact in a named runtime, baseline interleaved. */
export interface Speed {
  measurements: Measurement[];
  /** The baseline's figures of the same minutes. */
  baseline_measurements: Measurement[];
}

/** What the loop asks of the machine. Every call is one process, killed on abort. */
export interface Backend {
  /** The child of `parent` by `action`, made, written and verified; or found by its key. */
  apply(
    trial_id: string,
    parent: Artifact,
    action: ResolvedAction,
    /** Number of the action in its trial, from 0: what it logs while it works is kept under it. */
    action_index: number,
  ): Promise<Outcome<{ artifact: Artifact; cached: boolean }>>;
  evaluate(
    trial_id: string,
    artifact: Artifact,
    fidelity: string,
    /** Present in the midst of a chain: number of the last action applied, from 0. */
    action_index?: number,
    /** Absent: all of the rung's samples, and no look before. */
    look?: Look,
    /** Other settings of the same weights, whose answers to the same prompts are kept for later. */
    beside?: readonly ResolvedAction[],
  ): Promise<Outcome<Evaluation>>;
  /**
   * `baseline` null: the artifact is the baseline and is measured alone. Only what is in `alone` is timed:
   * other calls may compute beside the rest.
   */
  speed(
    trial_id: string,
    artifact: Artifact,
    baseline: Artifact | null,
    runtime: string,
    alone: Alone,
  ): Promise<Outcome<Speed>>;
}

/** A language model's answer, or why there is none. `model`: as its server names it, where it was reached. */
export type ChatReply =
  | { ok: true; text: string; model: string }
  | { ok: false; reason: string; model: string | null };

/** A language model that may be asked for a recipe. Never a throw. */
export interface Chat {
  readonly base_url: string;
  ask(messages: readonly ChatMessage[], signal: AbortSignal): Promise<ChatReply>;
}

/** What a sampler library is asked. */
export type SuggestRequest = Omit<CallRequest<"suggest">, "call">;

/** A sampler library behind the backend. Never a throw. */
export interface Suggesting {
  suggest(request: SuggestRequest): Promise<Outcome<CallResult<"suggest">>>;
}

/** What the loop tells: appended to the journal before it returns. */
export interface Tracker {
  record(record: JournalRecord): Promise<void>;
}

/** The one who may be asked; resolves to null where nobody answers: the default is then assumed. */
export interface Ask {
  readonly interactive: boolean;
  number(question: string, fallback: number): Promise<number | null>;
}

/** Counts the energy of the study's work on this machine. */
export interface EnergyMeter {
  /** Joules since some moment: only differences count. */
  joules(): number;
}

/** Milliseconds since 1970. */
export interface Clock {
  now(): number;
  /**
   * Ends what the backend does after so many milliseconds, unless `clear` comes before; `ended` is
   * then told.
   */
  endAfter?(ms: number, ended?: () => void): { clear(): void };
}

/** Shown while a study runs; never changes what is decided. */
export type StudyEvent =
  | {
    event: "phase";
    trial_id: string;
    phase: string;
    detail: string;
    /** The phase is the evaluation on the rung of this name. */
    rung?: boolean;
  }
  | {
    event: "progress";
    trial_id: string;
    label: string;
    done: number;
    total: number | null;
    unit: string;
  }
  | { event: "waiting"; trial_id: string; seconds: number; why: string }
  | { event: "record"; record: JournalRecord };
