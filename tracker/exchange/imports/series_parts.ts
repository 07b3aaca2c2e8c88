import type { ImportedRun } from "../../../core/mod.ts";

type Series = ImportedRun["series"];

/** Points that one record holds at most: about a megabyte of text. */
const POINTS = 20_000;

/** Series cut into lists of at most `points` points each; one list where there are none. */
export function seriesParts(series: Series, points = POINTS): Series[] {
  const parts: Series[] = [[]];
  let room = points;
  for (const { metric, steps, values, times } of series) {
    for (let from = 0; from < steps.length;) {
      if (room === 0) {
        parts.push([]);
        room = points;
      }
      const to = Math.min(steps.length, from + room);
      parts.at(-1)!.push({
        metric,
        steps: steps.slice(from, to),
        values: values.slice(from, to),
        times: times?.slice(from, to) ?? null,
      });
      room -= to - from;
      from = to;
    }
  }
  return parts;
}
