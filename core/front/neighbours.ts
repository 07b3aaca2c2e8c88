import { compareQuality, qualityMetric } from "../evidence/quality.ts";
import { Z95 } from "../evidence/statistics.ts";
import { FULL } from "../schemas/fidelity.ts";
import type { Neighbours } from "../schemas/journal.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Contender } from "./front_probability.ts";
import { objectiveFigure } from "./objectives.ts";

/** Samples that decide a difference D of pairs with deviation s: about 7·s²/D². */
const SAMPLES_FACTOR = 7;

/** The members with a measured quality, the best first. */
function byQuality(members: readonly Contender[], spec: Spec): Contender[] {
  const metric = qualityMetric(spec);
  const sign = metric === "accuracy" ? -1 : 1;
  return members.flatMap((member) => {
    const figure = objectiveFigure(member.trial, metric, spec);
    return figure === undefined || Number.isNaN(figure.value)
      ? []
      : [{ member, value: sign * figure.value }];
  }).sort((a, b) => a.value - b.value).map(({ member }) => member);
}

/** How two trials differ in quality on the samples that both have; null: they share too few. */
export function separationOf(better: Contender, worse: Contender, spec: Spec): Neighbours | null {
  const [reference, other] = [better, worse].map(({ trial: { measurements }, samples }) => ({
    measurements: [...measurements],
    samples: [...samples],
    protocol: {},
  }));
  const compared = compareQuality(spec, FULL, reference!, other!);
  if (compared === null || compared.interval === null) return null;
  const { drop, interval: [low, high], n, sequence } = compared;
  const half = (high - low) / 2;
  const told_apart = low > 0 || high < 0;
  // Of a difference that is hardly one, no number of samples is worth naming; nor where all are read.
  const existing = sequence?.existing ?? null;
  const hopeless = Math.abs(drop) <= half / 3 || // equals of no spread are none either
    (existing !== null && n >= existing);
  const needed = SAMPLES_FACTOR * n * (half / Z95 / drop) ** 2;
  return {
    better: better.trial.trial_id,
    worse: worse.trial.trial_id,
    difference: drop + 0, // no −0 of equals
    interval: [low, high],
    samples: n,
    told_apart,
    more: told_apart || hopeless ? null : Math.max(1, Math.ceil(needed - n)),
    existing,
  };
}

/**
 * Members of a front beside each other in quality, the best first: how they differ on the samples that
 * both have, with the 95 % interval, and about how many more samples would tell them apart.
 */
export function neighboursOf(members: readonly Contender[], spec: Spec): Neighbours[] {
  const sorted = byQuality(members, spec);
  return sorted.slice(1).flatMap((worse, i) => separationOf(sorted[i]!, worse, spec) ?? []);
}

/**
 * Members of a front that the samples cannot tell apart in quality, each group from its best to its
 * worst: the best differs from none of them by a 95 % interval of the pair. Groups may share members;
 * none lies within another, and none is of one trial.
 */
export function qualityGroups(members: readonly Contender[], spec: Spec): string[][] {
  const sorted = byQuality(members, spec);
  const groups: { first: number; last: number }[] = [];
  for (const first of sorted.keys()) {
    let last = first;
    while (last + 1 < sorted.length) {
      const next = separationOf(sorted[first]!, sorted[last + 1]!, spec);
      if (next === null || next.told_apart) break;
      last++;
    }
    if (last > first && last > (groups.at(-1)?.last ?? -1)) groups.push({ first, last });
  }
  return groups.map(({ first, last }) =>
    sorted.slice(first, last + 1).map(({ trial }) => trial.trial_id)
  );
}
