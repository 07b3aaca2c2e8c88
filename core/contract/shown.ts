import type { ResolvedAction } from "../schemas/action.ts";
import type { ChatMessage } from "../schemas/proposal.ts";

/** What a trial has taken so far. */
export interface TrialCost {
  readonly trial_id: string;
  /**
   * Seconds by phase of the loop, such as apply, speed and the names of its rungs; `loop` is what no phase took. In
   * trials of earlier versions by the name of the work, such as load or quantize.
   */
  readonly seconds: Readonly<Record<string, number>>;
  readonly total_seconds: number;
  /** Seconds that it held the GPU; 0 on a CPU. */
  readonly gpu_seconds: number;
}

/** A trial that is begun and not closed. */
export interface TrialUnderWay {
  readonly trial_id: string;
  readonly actions: readonly ResolvedAction[];
  /** The highest rung that it reached; null: none yet. */
  readonly fidelity: string | null;
  /** The rung that it is held for, until one of the last full evaluations is free; null: none. */
  readonly waits_for: string | null;
}

/** A question to the study's language model. */
export interface Consultation<T> {
  /** The whole conversation so far, the question last. */
  readonly messages: readonly ChatMessage[];
  /** Ids of the trials that it is told of. */
  readonly evidence: readonly string[];
  /** What the answer is, or why it is none. */
  read(reply: string): Reading<T>;
}

export type Reading<T> = { readonly value: T } | { readonly refused: string };
