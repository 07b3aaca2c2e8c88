/** A cell of a flat row, as Plot takes it. */
export type Cell = string | number | boolean | Date | null;

/** A row of plain cells by column. */
export type FlatRow = Record<string, Cell>;

/** How deep an object in a cell is opened; below it stands as JSON. */
const DEPTH = 3;

function isPair(value: unknown): value is readonly [unknown, unknown] {
  return Array.isArray(value) && value.length === 2 &&
    value.every((one) => one === null || typeof one === "number");
}

function jsonOf(value: unknown): string {
  const cell = (_: string, one: unknown) =>
    typeof one === "bigint"
      ? String(one)
      : typeof one === "number" && !Number.isInteger(one)
      ? Number(one.toPrecision(4))
      : one;
  return JSON.stringify(value, cell) ?? "";
}

function listText(values: readonly unknown[]): string {
  const plain = values.every((one) => typeof one !== "object" || one === null);
  return plain ? values.map(String).join(", ") : jsonOf(values);
}

function put(row: FlatRow, name: string, value: unknown, depth: number): void {
  if (value === undefined) value = null;
  if (value === null && /(^|_)interval$/.test(name)) value = [null, null];
  if (value === null) row[name] = null;
  else if (typeof value === "bigint") row[name] = Number(value);
  else if (typeof value === "function" || typeof value === "symbol") row[name] = null;
  else if (typeof value !== "object" || value instanceof Date) row[name] = value as Cell;
  else if (isPair(value)) {
    const stem = name.replace(/_?interval$/, "");
    const of = (end: string) => stem === "" ? end : `${stem}_${end}`;
    put(row, of("low"), value[0], depth);
    put(row, of("high"), value[1], depth);
  } else if (Array.isArray(value)) row[name] = listText(value);
  else if (depth >= DEPTH) row[name] = jsonOf(value);
  else {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    if (entries.length === 0) row[name] = null;
    // The value of a figure has the figure's name, what stands beside it that name and its own.
    for (const [key, one] of entries) {
      put(row, key === "value" ? name : `${name}_${key}`, one, depth + 1);
    }
  }
}

/**
 * A row with every cell a plain one: a figure `{ value, standard_error }` in the column `x` becomes
 * `x` and `x_standard_error`, an interval `x_low` and `x_high`, a list its text.
 */
export function flatRow(row: object): FlatRow {
  const flat: FlatRow = {};
  for (const [name, value] of Object.entries(row)) put(flat, name, value, 0);
  return flat;
}
