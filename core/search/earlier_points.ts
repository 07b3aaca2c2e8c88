import type { SearchContext } from "../contract/plugin.ts";
import type { ComparableStudy } from "../front/comparable.ts";
import { isDistance, isShare } from "../metrics/metric_table.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { EarlierTrial } from "../schemas/proposal.ts";
import { similarityTo } from "../strategies/earlier_strategies.ts";
import { figuresOf } from "./foretold_figures.ts";
import type { MethodSpace } from "./method_space.ts";
import type { Learned } from "./space.ts";

/** What a figure would be here if it moved from its baseline as it did there; null: it cannot be told. */
function figureHere(
  metric: string,
  { figures }: EarlierTrial,
  baseline: number,
): number | null {
  const there = figures[metric];
  if (there === undefined || !Number.isFinite(there.value)) return null;
  if (isDistance(metric)) return there.value; // of the original already
  if (there.baseline === null || !Number.isFinite(there.baseline)) return null;
  if (isShare(metric)) return baseline + there.value - there.baseline;
  return there.baseline > 0 ? baseline * there.value / there.baseline : null;
}

/**
 * What earlier studies measured of recipes that have a point here, by the objectives of this one; undefined where
 * there is nothing, or no baseline to measure it by.
 */
export function earlierPoints(
  { earlier, spec, facts }: SearchContext,
  space: MethodSpace,
  study: ComparableStudy,
): readonly Learned[] | undefined {
  const baseline = study.trials.find(({ strategy }) => strategy === null);
  const own = baseline === undefined ? null : figuresOf(baseline, study);
  if (own === null) return undefined;
  const learned = earlier.flatMap((trial): Learned[] => {
    if (trial.state !== "completed" || !isDecisive(trial.fidelity) || trial.actions.length === 0) {
      return [];
    }
    const values = spec.objectives.map(({ metric }, m) => figureHere(metric, trial, own[m]!.value));
    const known = values.filter((value) => value !== null);
    const place = space.pointOf(trial.actions.map((action) => ({ ...action, resolved: [] })));
    if (known.length < values.length || !("point" in place)) return [];
    return [{ point: place.point, values: known, likeness: similarityTo(trial, spec, facts) }];
  });
  return learned.length === 0 ? undefined : learned;
}
