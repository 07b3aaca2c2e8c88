import type { ImportedParam, ImportedStep } from "../../../core/mod.ts";

/** A whole number without a digit lost: a text where a double cannot hold it. */
export function wholeNumber(value: bigint | number | string): ImportedStep {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** The order of steps, also of those that are texts. */
export function byStep(a: ImportedStep, b: ImportedStep): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [one, other] = [BigInt(a), BigInt(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** A value of another tracker's as the store keeps params: what is neither text nor number is JSON. */
export function paramValue(value: unknown): ImportedParam["value"] {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  return typeof value === "string" || typeof value === "boolean" ? value : JSON.stringify(value);
}

/** The first sentence of what went wrong with a value, in words for whoever imports. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && "issues" in error && Array.isArray(error.issues)) {
    const [issue] = error.issues as { path: PropertyKey[]; message: string }[];
    return `${issue?.path.map(String).join(".") || "its row"}: ${issue?.message}`;
  }
  return (error instanceof Error ? error.message : String(error)).split("\n")[0]!;
}
