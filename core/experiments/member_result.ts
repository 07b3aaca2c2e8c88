import type { ConfiguredScores } from "../runs/evaluation/evaluation_result.ts";
import type { SampleResult } from "../schemas/measurement.ts";
import type { Use } from "./use.ts";

/** What a member of an experiment came to. */
export interface MemberResult {
  readonly experiment: string;
  readonly config_id: string;
  readonly llm_model: string;
  readonly eval_config: string;
  readonly num_tasks: number | null;
  readonly sampling_strategy: string;
  readonly study_id: string;
  readonly success: boolean;
  /** Why it has no scores, or not all; null: it has all. */
  readonly reason: string | null;
  /** Null: nothing was measured yet. */
  readonly timestamp: string | null;
  readonly scores: ConfiguredScores | null;
  readonly use: Use;
  /** Answers that are kept of it, each once. */
  readonly samples: readonly SampleResult[];
}
