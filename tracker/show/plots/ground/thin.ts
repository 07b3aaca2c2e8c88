/**
 * At most about so many points of a line, in their order: of every stretch the least and the most, so
 * that no peak is lost.
 */
export function thinned<T>(points: readonly T[], most: number, value: (point: T) => number): T[] {
  if (points.length <= most) return [...points];
  const each = Math.ceil(points.length / Math.max(1, Math.floor(most / 2)));
  const kept: T[] = [];
  for (let first = 0; first < points.length; first += each) {
    const end = Math.min(points.length, first + each);
    let [low, high] = [first, first];
    for (let at = first; at < end; at++) {
      if (value(points[at]!) < value(points[low]!)) low = at;
      if (value(points[at]!) > value(points[high]!)) high = at;
    }
    kept.push(points[Math.min(low, high)]!);
    if (low !== high) kept.push(points[Math.max(low, high)]!);
  }
  if (kept.at(-1) !== points.at(-1)) kept.push(points.at(-1)!);
  return kept;
}
