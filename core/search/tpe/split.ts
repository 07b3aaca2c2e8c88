import { hypervolume } from "../../front/hypervolume.ts";
import { paretoRanks } from "../../front/pareto.ts";
import { excessOf, isAllowed, measuredOf, referenceOf } from "../surrogate/objectives.ts";
import type { SearchState, SpacePoint } from "../space.ts";

/** What share of the points are good, and how many of them at most. */
const GOOD = { share: 0.1, most: 25 };

/** Points whose like to try, and points whose like to leave. */
export interface Split {
  readonly good: readonly SpacePoint[];
  readonly bad: readonly SpacePoint[];
}

/**
 * Indices of the `count` rows that together leave the least volume open, greedily: none is better by more
 * than a factor of 1 - 1/e (hypervolume subset selection; Guerreiro, Fonseca, Paquete 2016). A gain
 * only shrinks as others are chosen, so that an old one that still leads need not be looked at again.
 */
export function largestVolume(
  rows: readonly (readonly number[])[],
  reference: readonly number[],
  count: number,
): number[] {
  const directions = reference.map(() => "minimize" as const);
  const chosen: number[] = [];
  let volume = 0;
  const gains = rows.map((row, i) => ({
    i,
    gain: hypervolume([row], reference, directions),
    at: 0,
  }));
  while (chosen.length < count && gains.length > 0) {
    gains.sort((a, b) => b.gain - a.gain || a.i - b.i);
    const first = gains[0]!;
    if (first.at < chosen.length) {
      const taken = [...chosen, first.i].map((i) => rows[i]!);
      first.gain = hypervolume(taken, reference, directions) - volume;
      first.at = chosen.length;
      continue;
    }
    chosen.push(first.i);
    volume += first.gain;
    gains.shift();
  }
  return chosen;
}

/** Indices of rows, best first: by rank, then for `count` of them by the volume that they add. */
function bestOf(rows: readonly (readonly number[])[], count: number): number[] {
  const first = rows[0];
  if (first === undefined) return [];
  const ranks = paretoRanks(rows, first.map(() => "minimize" as const));
  const kept: number[] = [];
  for (let rank = 0; kept.length < count && rank <= Math.max(...ranks); rank++) {
    const members = ranks.flatMap((own, i) => own === rank ? [i] : []);
    const left = count - kept.length;
    if (members.length <= left) kept.push(...members);
    else {
      const some = members.map((i) => rows[i]!);
      kept.push(...largestVolume(some, referenceOf(rows), left).map((i) => members[i]!));
    }
  }
  return kept;
}

/**
 * Splits what was seen (Ozaki et al. 2022): good are the first ranks, the last of them by the volume that
 * its members add. Constraints come before objectives: what exceeds none, then what exceeds them
 * least. What came to nothing is bad, and so is what is under way, or several askings would
 * name the same place (constant liar).
 */
export function splitSeen(state: SearchState): Split {
  const measured = measuredOf(state);
  const sign = state.directions.map((direction) => direction === "maximize" ? -1 : 1);
  const rowOf = ({ values }: { values: readonly number[] }) =>
    values.map((one, m) => sign[m]! * one);
  const count = Math.min(GOOD.most, Math.ceil(GOOD.share * measured.length));
  const allowed = measured.filter(isAllowed);
  const beyond = measured.filter((one) => one.state === "done" && !isAllowed(one))
    .sort((a, b) => excessOf(a) - excessOf(b));
  const good = new Set([
    ...bestOf(allowed.map(rowOf), count).map((i) => allowed[i]!),
    ...beyond.slice(0, Math.max(0, count - allowed.length)),
  ]);
  const bad = state.seen.filter((one) => one.state !== "failed" && !good.has(one as never));
  return { good: [...good].map(({ point }) => point), bad: bad.map(({ point }) => point) };
}
