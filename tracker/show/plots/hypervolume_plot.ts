import type { Episode } from "../../../core/mod.ts";
import { hypervolume } from "./figures/hypervolume.ts";

/** Costs of which a study tells what was spent as an episode ended. */
const COSTS = ["seconds", "gpu_hours", "joules"] as const;

/** An episode as `SELECT * FROM episodes` gives it. */
function rowOf(episode: Episode): Record<string, unknown> {
  const [low, high] = episode.hypervolume_interval ?? [null, null];
  const spent = COSTS.map((cost) => [`spent_${cost}`, episode.spent?.[cost] ?? null]);
  return {
    number: episode.number,
    hypervolume: episode.hypervolume,
    hypervolume_low: low,
    hypervolume_high: high,
    ...Object.fromEntries(spent),
  };
}

/** Whether two episodes or more say what was spent until then, and something was. */
function isDrawn(episodes: readonly Episode[]): boolean {
  return COSTS.some((cost) => {
    const spent = episodes.filter((one) => one.hypervolume !== null)
      .flatMap((one) => one.spent?.[cost] ?? []);
    return spent.length >= 2 && spent.at(-1) !== 0;
  });
}

/**
 * The hypervolume over what the study had spent, a panel for each cost that was measured, with its 95 %
 * interval as a band. Null: fewer than two episodes say what they cost.
 */
export function hypervolumePlot(episodes: readonly Episode[], width = 800): string | null {
  return isDrawn(episodes) ? hypervolume(episodes.map(rowOf), { width }) : null;
}
