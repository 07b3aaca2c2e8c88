import type { StudyRequest } from "../schemas/request.ts";

/** Full evaluations of a study where the request names no number; the baseline's is not counted. */
export const DEFAULT_FULL_EVALUATIONS = 8;

/** Episodes of the samplers without a gain in hypervolume after which a study has converged. */
export const DEFAULT_CONVERGENCE_EPISODES = 6;

/** The option of `pare run` and `pare resume` that sets each limit of a study. */
export const LIMIT_OPTIONS = {
  budget_seconds: "--budget",
  gpu_hours: "--gpu-hours",
  max_trials: "--max-trials",
  max_full_evaluations: "--max-full-evaluations",
  convergence_episodes: "--convergence-episodes",
} as const;

export type LimitName = keyof typeof LIMIT_OPTIONS;

/** What ends a study that could go on: the fields of a request that resuming may change. */
export type Limits = Pick<StudyRequest, LimitName>;
