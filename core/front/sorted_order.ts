/** Keys that are put in order by insertion before they are merged. */
const RUN = 12;

/** Puts each run of `RUN` keys in order, with their indices. */
function sortRuns(keys: Float64Array, order: Uint32Array): void {
  const n = keys.length;
  for (let start = 0; start < n; start += RUN) {
    const end = Math.min(n, start + RUN);
    for (let i = start + 1; i < end; i++) {
      const key = keys[i]!;
      const index = order[i]!;
      let at = i - 1;
      for (; at >= start && keys[at]! > key; at--) {
        keys[at + 1] = keys[at]!;
        order[at + 1] = order[at]!;
      }
      keys[at + 1] = key;
      order[at + 1] = index;
    }
  }
}

function isSorted(keys: Float64Array): boolean {
  for (let i = 1; i < keys.length; i++) if (keys[i - 1]! > keys[i]!) return false;
  return true;
}

/**
 * Indices of the keys, least first; equal ones as they stand. A merge sort over typed arrays: a comparison
 * that is a function call would take most of the time of a sweep. No key is NaN.
 */
export function sortedOrder(keys: Float64Array): Uint32Array {
  const n = keys.length;
  let order = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  if (isSorted(keys)) return order;
  let values = keys.slice();
  sortRuns(values, order);
  let [nextValues, nextOrder] = [new Float64Array(n), new Uint32Array(n)];
  for (let width = RUN; width < n; width *= 2) {
    for (let start = 0; start < n; start += 2 * width) {
      const middle = Math.min(n, start + width);
      const end = Math.min(n, start + 2 * width);
      let left = start;
      let right = middle;
      for (let to = start; to < end; to++) {
        const takesLeft = left < middle && (right >= end || values[left]! <= values[right]!);
        const from = takesLeft ? left++ : right++;
        nextValues[to] = values[from]!;
        nextOrder[to] = order[from]!;
      }
    }
    [values, nextValues, order, nextOrder] = [nextValues, values, nextOrder, order];
  }
  return order;
}

/** Indices of rows that lie in columns, by the first column, then by the next where it is equal. */
export function lexicographicOrder(columns: readonly Float64Array[]): Uint32Array {
  const [first, ...rest] = columns;
  if (first === undefined) return new Uint32Array(0);
  const order = sortedOrder(first);
  if (rest.length === 0) return order;
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && first[order[end]!] === first[order[start]!]) end++;
    if (end - start > 1) {
      const tied = order.slice(start, end);
      const within = lexicographicOrder(rest.map((column) => taken(column, tied)));
      within.forEach((at, i) => order[start + i] = tied[at]!);
    }
    start = end;
  }
  return order;
}

/** The values of a column at these indices. */
export function taken(column: Float64Array, indices: Uint32Array): Float64Array {
  const values = new Float64Array(indices.length);
  for (let i = 0; i < indices.length; i++) values[i] = column[indices[i]!]!;
  return values;
}
