import { z } from "zod";
import type { ImportedParam } from "../../../core/mod.ts";
import { paramValue } from "./foreign_values.ts";
import { parsePythonJson } from "./python_json.ts";

/** How Optuna's tables write a number that SQLite cannot hold: NULL beside this word. */
const SPECIAL: Readonly<Record<string, number>> = {
  NAN: NaN,
  INF_POS: Infinity,
  INF_NEG: -Infinity,
};

/** A stored number of Optuna's; `kind` is FINITE, INF_POS, INF_NEG or NAN. */
export function storedNumber(value: number | null, kind: string): number {
  const special = SPECIAL[kind];
  if (special !== undefined) return special;
  if (value === null) throw new Error(`Cannot read a number of the kind ${kind} without a value`);
  return value;
}

/** Of Optuna 3 and later, and the older names that a file may still hold. */
const Distribution = z.object({
  name: z.string(),
  attributes: z.object({
    low: z.number().optional(),
    high: z.number().optional(),
    log: z.boolean().optional(),
    step: z.number().nullable().optional(),
    q: z.number().optional(),
    choices: z.array(z.unknown()).optional(),
  }),
});

/** A choice as its distribution shows it. */
function choiceText(choice: unknown): string {
  return typeof choice === "number" ? String(choice) : JSON.stringify(choice);
}

/** A parameter with its value as it was suggested and its distribution in words. */
export function readParam(param: string, stored: number, distribution_json: string): ImportedParam {
  const { name, attributes } = Distribution.parse(parsePythonJson(distribution_json));
  const { low, high, log, choices } = attributes;
  if (choices !== undefined) {
    const value = paramValue(choices[stored]);
    const words = choices.map(choiceText).join(", ");
    return { param, value, distribution: `one of ${words}` };
  }
  const integer = name.startsWith("Int");
  const step = attributes.q ?? attributes.step ?? null;
  const distribution = [
    `${integer ? "int" : "float"} ${low} to ${high}`,
    ...(log === true || name.includes("LogUniform") ? ["log"] : []),
    ...(step === null || (integer && step === 1) ? [] : [`step ${step}`]),
  ].join(", ");
  return { param, value: integer ? Math.round(stored) : stored, distribution };
}

/** A user's attribute as a tag: a text as it is, all else as JSON. */
export function attributeText(value_json: string): string {
  const value: unknown = parsePythonJson(value_json);
  return typeof value === "string" ? value : value_json;
}
