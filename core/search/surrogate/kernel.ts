/** Matérn with smoothness 5/2 at a squared distance: 1 at 0 (Rasmussen and Williams 2006, eq. 4.17). */
export function matern(squared: number): number {
  const reach = Math.sqrt(5 * squared);
  return (1 + reach + reach * reach / 3) * Math.exp(-reach);
}

/** Its derivative by the squared distance. */
export function maternSlope(squared: number): number {
  const reach = Math.sqrt(5 * squared);
  return (-5 / 6) * (1 + reach) * Math.exp(-reach);
}

/**
 * Squared distances of all pairs i > j along each group of coordinates, pair after pair, each with
 * `groups` numbers.
 */
export function pairDistances(
  rows: readonly Float64Array[],
  groupOf: Int32Array,
  groups: number,
): Float64Array {
  const n = rows.length;
  const distances = new Float64Array((n * (n - 1)) / 2 * groups);
  let at = 0;
  for (let i = 1; i < n; i++) {
    for (let j = 0; j < i; j++, at += groups) {
      const [a, b] = [rows[i]!, rows[j]!];
      for (let k = 0; k < groupOf.length; k++) {
        const apart = a[k]! - b[k]!;
        distances[at + groupOf[k]!]! += apart * apart;
      }
    }
  }
  return distances;
}
