import {
  DuckDBArrayType,
  DuckDBArrayValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  DuckDBStructType,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUnionType,
  DuckDBUnionValue,
  type DuckDBValue,
} from "@duckdb/node-api";
import { nestedText, scalarText, shortest } from "./nested_text.ts";
import type { Value, ValueForm } from "./result.ts";

/** The latest and the earliest moment that a Date holds, in milliseconds. */
const MOST_MS = 8.64e15;

/** Division towards the past. */
function floored(value: bigint, by: bigint): bigint {
  return value / by - (value % by < 0n ? 1n : 0n);
}

/** Milliseconds since 1970 of what is a moment or a day; null: it is none, or no Date holds it. */
function milliseconds(value: DuckDBValue): number | null {
  const ms = value instanceof DuckDBDateValue
    ? value.days * 86_400_000
    : value instanceof DuckDBTimestampSecondsValue
    ? Number(value.seconds) * 1000
    : value instanceof DuckDBTimestampMillisecondsValue
    ? Number(value.millis)
    : value instanceof DuckDBTimestampNanosecondsValue
    ? Number(floored(value.nanos, 1_000_000n))
    : value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue
    ? Number(floored(value.micros, 1000n))
    : null;
  return ms === null || Math.abs(ms) > MOST_MS || /infinity/.test(scalarText(value)) ? null : ms;
}

/** A number where a double holds all its digits, else its text. */
function numberOrText(text: string): number | string {
  const number = Number(text);
  const digits = text.replace(/^-/, "").replace(".", "").replace(/^0+/, "").replace(/0+$/, "");
  return Number.isInteger(number)
    ? Number.isSafeInteger(number) ? number : text
    : digits.length <= 15
    ? number
    : text;
}

function fields(
  { entries }: DuckDBStructValue,
  type: DuckDBStructType,
  form: ValueForm,
): Value {
  return Object.fromEntries(
    type.entryNames.map((name, i) => [
      name,
      valueOf(entries[name] ?? null, type.entryTypes[i]!, form),
    ]),
  );
}

function entriesOf({ entries }: DuckDBMapValue, type: DuckDBMapType, form: ValueForm): Value {
  const pairs = entries.map(({ key, value }) => ({
    key: valueOf(key, type.keyType, form),
    value: valueOf(value, type.valueType, form),
  }));
  if (!pairs.every(({ key }) => typeof key === "string")) return pairs;
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
}

/** A value that holds others; undefined: it holds none. */
function nested(value: DuckDBValue, type: DuckDBType, form: ValueForm): Value | undefined {
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    const { valueType } = type as DuckDBListType | DuckDBArrayType;
    return value.items.map((item) => valueOf(item, valueType, form));
  }
  if (value instanceof DuckDBStructValue) return fields(value, type as DuckDBStructType, form);
  if (value instanceof DuckDBMapValue) return entriesOf(value, type as DuckDBMapType, form);
  if (value instanceof DuckDBUnionValue) {
    const { memberTags, memberTypes } = type as DuckDBUnionType;
    return valueOf(value.value, memberTypes[memberTags.indexOf(value.tag)]!, form);
  }
  return undefined;
}

/** A value of DuckDB's as a form has it. Numbers stay numbers; those with more digits are texts. */
export function valueOf(value: DuckDBValue, type: DuckDBType, form: ValueForm): Value {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") {
    return type.typeId === DuckDBTypeId.FLOAT ? shortest(value) : value;
  }
  if (typeof value === "bigint") return numberOrText(String(value));
  if (value instanceof DuckDBDecimalValue) return numberOrText(String(value));
  const ms = form === "program" ? milliseconds(value) : null;
  if (ms !== null) return new Date(ms);
  if (form === "text") return nestedText(value, type);
  return nested(value, type, form) ?? scalarText(value);
}
