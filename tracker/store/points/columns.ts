import type { IntegerColumn, Points } from "../../../core/mod.ts";

const WIDTHS = [
  { bytes: 1, largest: 0x7f, make: Int8Array },
  { bytes: 2, largest: 0x7fff, make: Int16Array },
  { bytes: 4, largest: 0x7fffffff, make: Int32Array },
] as const;

/** The bytes as they lie in memory: every machine that Deno runs on is little-endian. */
function toBase64(array: ArrayBufferView): string {
  return new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength).toBase64();
}

/** Whole numbers in the shortest of the three forms. */
export function encodeIntegers(values: Float64Array): IntegerColumn {
  const first = values[0]!;
  const by = values.length > 1 ? values[1]! - first : 0;
  let regular = Number.isSafeInteger(by);
  let largest = 0;
  for (let i = 1; i < values.length; i++) {
    const difference = values[i]! - values[i - 1]!;
    if (difference !== by) regular = false;
    largest = Math.max(largest, Math.abs(difference));
  }
  if (regular) return { first, by };
  const width = WIDTHS.find((one) => largest <= one.largest);
  if (width === undefined) return { exact: toBase64(values) };
  const differences = new width.make(values.length - 1);
  for (let i = 1; i < values.length; i++) differences[i - 1] = values[i]! - values[i - 1]!;
  return { first, bytes: width.bytes, differences: toBase64(differences) };
}

/** What `encodeIntegers` wrote. */
export function decodeIntegers(column: IntegerColumn, rows: number): Float64Array {
  if ("exact" in column) return new Float64Array(Uint8Array.fromBase64(column.exact).buffer);
  const values = new Float64Array(rows);
  let value = column.first;
  if ("by" in column) {
    for (let i = 0; i < rows; i++, value += column.by) values[i] = value;
    return values;
  }
  const { make } = WIDTHS.find((one) => one.bytes === column.bytes)!; // the schema's three
  const differences = new make(Uint8Array.fromBase64(column.differences).buffer);
  values[0] = value;
  for (let i = 1; i < rows; i++) values[i] = value += differences[i - 1]!;
  return values;
}

/**
 * Whole numbers as 64-bit integers, times `factor`. Written as two halves: a BigInt for each of a
 * million numbers would take longer than all the rest of their way into the database.
 */
export function toInt64(values: Float64Array, factor = 1): BigInt64Array<ArrayBuffer> {
  const column = new BigInt64Array(values.length);
  const halves = new Int32Array(column.buffer);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]! * factor;
    if (Number.isSafeInteger(value)) {
      halves[2 * i] = value; // modulo 2^32
      halves[2 * i + 1] = Math.floor(value / 2 ** 32);
    } else {
      column[i] = BigInt(values[i]!) * BigInt(factor);
    }
  }
  return column;
}

/** Columns of one length, one after the other, bit for bit. */
export function encodeValues(columns: readonly Float64Array[]): string {
  const rows = columns[0]!.length;
  const all = new Uint8Array(8 * rows * columns.length);
  columns.forEach((column, i) => {
    all.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), 8 * rows * i);
  });
  return all.toBase64();
}

/** A column of values a metric, in the order of `metrics`. */
export function decodeValues({ metrics, rows, values }: Points): Float64Array<ArrayBuffer>[] {
  const { buffer } = Uint8Array.fromBase64(values);
  return metrics.map((_, i) => new Float64Array(buffer, 8 * rows * i, rows));
}
