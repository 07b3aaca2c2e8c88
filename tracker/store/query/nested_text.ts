import {
  type DuckDBArrayType,
  DuckDBArrayValue,
  DuckDBDateValue,
  type DuckDBListType,
  DuckDBListValue,
  type DuckDBMapType,
  DuckDBMapValue,
  type DuckDBStructType,
  DuckDBStructValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBUnionType,
  DuckDBUnionValue,
  type DuckDBValue,
} from "@duckdb/node-api";

/** The day that stands for infinity, which the binding writes as a day. */
const LAST_DAY = 2 ** 31 - 1;

/** The text of a value that holds no others. */
export function scalarText(value: DuckDBValue): string {
  if (value instanceof DuckDBDateValue && Math.abs(value.days) === LAST_DAY) {
    return value.days > 0 ? "infinity" : "-infinity";
  }
  return String(value);
}

/** The shortest number that is this one in 32 bits: 0.1, not 0.10000000149011612. */
export function shortest(value: number): number {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value; // NaN and the infinities
}

/** DuckDB's text of a number that is not whole by its type. */
function doubleText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const text = String(value).replace(/e([+-])(\d)$/, "e$10$2");
  return /[.e]/.test(text) ? text : `${Object.is(value, -0) ? "-0" : text}.0`;
}

/** A text inside a list, a struct or a map: in quotes where it would be taken for something else. */
function quotedWhereNeeded(text: string): string {
  const plain = text !== "" && text === text.trim() && !/^null$/i.test(text) &&
    !/["'(),:=[\]{}]/.test(text);
  return plain ? text : `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}

function inside(value: DuckDBValue, type: DuckDBType): string {
  if (value === null) return "NULL";
  const text = nestedText(value, type);
  const holds = value instanceof DuckDBListValue || value instanceof DuckDBArrayValue ||
    value instanceof DuckDBStructValue || value instanceof DuckDBMapValue;
  return holds || typeof value === "number" ? text : quotedWhereNeeded(text);
}

/** A value as DuckDB casts it to VARCHAR. */
export function nestedText(value: DuckDBValue, type: DuckDBType): string {
  if (typeof value === "number") {
    if (type.typeId === DuckDBTypeId.FLOAT) return doubleText(shortest(value));
    return type.typeId === DuckDBTypeId.DOUBLE ? doubleText(value) : String(value);
  }
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    const { valueType } = type as DuckDBListType | DuckDBArrayType;
    return `[${value.items.map((item) => inside(item, valueType)).join(", ")}]`;
  }
  if (value instanceof DuckDBStructValue) {
    const { entryNames, entryTypes } = type as DuckDBStructType;
    const fields = entryNames.map((name, i) =>
      `'${name.replaceAll(/[\\']/g, "\\$&")}': ${
        inside(value.entries[name] ?? null, entryTypes[i]!)
      }`
    );
    return `{${fields.join(", ")}}`;
  }
  if (value instanceof DuckDBMapValue) {
    const { keyType, valueType } = type as DuckDBMapType;
    const pairs = value.entries.map((one) =>
      `${inside(one.key, keyType)}=${inside(one.value, valueType)}`
    );
    return `{${pairs.join(", ")}}`;
  }
  if (value instanceof DuckDBUnionValue) {
    const { memberTags, memberTypes } = type as DuckDBUnionType;
    return nestedText(value.value, memberTypes[memberTags.indexOf(value.tag)]!);
  }
  return scalarText(value);
}
