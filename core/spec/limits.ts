import { type RunRequest, StudyLimits } from "../schemas/request.ts";

/** Full evaluations of a study where the request names no number; the baseline's is not counted. */
export const DEFAULT_FULL_EVALUATIONS = 8;

/** Episodes of the samplers without a gain in hypervolume after which a study has converged. */
export const DEFAULT_CONVERGENCE_EPISODES = 6;

export type LimitName = keyof StudyLimits;

/** The option of `pare run` and `pare resume` that sets each limit of a study. */
export const LIMIT_OPTIONS: Readonly<Record<LimitName, string>> = {
  budget_seconds: "--budget",
  gpu_hours: "--gpu-hours",
  budget_joules: "--budget-joules",
  max_trials: "--max-trials",
  max_full_evaluations: "--max-full-evaluations",
  convergence_episodes: "--convergence-episodes",
  least_gain_per_hour: "--least-gain",
};

/** Names of the limits that are given. */
export function givenLimits(limits: StudyLimits): LimitName[] {
  return (Object.keys(StudyLimits.shape) as LimitName[]).filter((name) =>
    limits[name] !== undefined
  );
}

/** The request with limits in place of its own; those that are not given stay. */
export function withLimits<R extends RunRequest>(request: R, limits: StudyLimits): R {
  const given = givenLimits(limits).map((name) => [name, limits[name]]);
  return { ...request, ...Object.fromEntries(given) };
}
