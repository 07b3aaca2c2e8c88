import { z } from "zod";
import type { KnobDescription, KnobValue } from "../schemas/action.ts";

/** What the search and the conformance test read of a knob. */
export interface Knob<V extends KnobValue = KnobValue> {
  readonly kind: "choice" | "integer" | "real" | "flag";
  readonly default: V;
  readonly unit: string;
  readonly description: string;
  readonly choices: readonly V[] | null;
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** True where the range spans powers of ten and is searched by its logarithm. */
  readonly log: boolean;
  /** A choice takes any text of this regular expression, too, which no search varies; a word: that value. */
  readonly pattern?: string;
  /** It counts windows of calibration data, or tokens of one: no more than a study has. */
  readonly takes?: "windows" | "tokens";
  /** Other names that a strategy may give it, such as one of the literature. */
  readonly aliases?: readonly string[];
  /** It counts only where another knob of the method has one of these values; elsewhere its default stands. */
  readonly only_where?: { readonly knob: string; readonly is: readonly KnobValue[] };
  /** Why the maximum is what it is, as the end of a sentence, where a study lowered it. */
  readonly bound?: string;
}

/** A method's knobs by name: the search space follows from them. */
export type Knobs = Readonly<Record<string, Knob>>;

/** Knobs as the Python half is told of them: nothing is said of ranges there. */
export function describedKnobs(knobs: Knobs): KnobDescription[] {
  return Object.entries(knobs).map(([name, knob]) => ({
    name,
    kind: knob.kind,
    default: knob.default,
    unit: knob.unit,
    ...(knob.choices === null ? {} : { choices: [...knob.choices] }),
    ...(knob.minimum === null ? {} : { minimum: knob.minimum }),
    ...(knob.maximum === null ? {} : { maximum: knob.maximum }),
    ...(knob.pattern === undefined ? {} : { pattern: knob.pattern }),
  }));
}

/** A value for every knob, typed as the knobs declare them. */
export type ParamsOf<K extends Knobs> = {
  readonly [N in keyof K]: K[N] extends Knob<infer V> ? V : never;
};

/** Values for some knobs; "auto" leaves one to the method. */
export type SomeParamsOf<K extends Knobs> = string extends keyof K ? Record<string, KnobValue>
  : { readonly [N in keyof K]?: (K[N] extends Knob<infer V> ? V : never) | "auto" };

/** One of a few values. */
export function choice<const V extends KnobValue>(
  choices: readonly V[],
  options: {
    default: NoInfer<V>;
    unit: string;
    description: string;
    pattern?: string;
    aliases?: readonly string[];
    only_where?: NonNullable<Knob["only_where"]>;
  },
): Knob<V> {
  return { kind: "choice", choices, minimum: null, maximum: null, log: false, ...options };
}

interface NumberOptions {
  minimum: number;
  maximum: number;
  default: number;
  unit: string;
  description: string;
  log?: boolean;
  aliases?: readonly string[];
  only_where?: NonNullable<Knob["only_where"]>;
}

/** A whole number from minimum to maximum, both included. */
export function integer(options: NumberOptions & Pick<Knob, "takes">): Knob<number> {
  return { kind: "integer", choices: null, log: false, ...options };
}

/** A real number from minimum to maximum, both included. */
export function real(options: NumberOptions): Knob<number> {
  return { kind: "real", choices: null, log: false, ...options };
}

/** On or off. */
export function flag(
  options: {
    default: boolean;
    description: string;
    aliases?: readonly string[];
    only_where?: NonNullable<Knob["only_where"]>;
  },
): Knob<boolean> {
  return {
    kind: "flag",
    choices: null,
    minimum: null,
    maximum: null,
    log: false,
    unit: "on/off",
    ...options,
  };
}

/** Of a text that a knob takes: the formats of some thousand layers. */
const MOST_CHARACTERS = 65_536;

function valueSchema(knob: Knob): z.ZodType<KnobValue> {
  switch (knob.kind) {
    case "choice": {
      const named = z.literal([...(knob.choices ?? [])]);
      return knob.pattern === undefined
        ? named
        : named.or(z.string().max(MOST_CHARACTERS).regex(new RegExp(`^(?:${knob.pattern})$`)));
    }
    case "flag":
      return z.boolean();
    case "integer":
      return z.int().min(knob.minimum ?? -Infinity).max(knob.maximum ?? Infinity);
    case "real":
      return z.number().min(knob.minimum ?? -Infinity).max(knob.maximum ?? Infinity);
  }
}

type ParamsSchema = z.ZodType<Record<string, KnobValue>>;

/** A schema made once for each knobs object: a search checks thousands of recipes. */
function madeOnce(make: (knobs: Knobs) => ParamsSchema): (knobs: Knobs) => ParamsSchema {
  const made = new WeakMap<Knobs, ParamsSchema>();
  return (knobs) => {
    const schema = made.get(knobs) ?? make(knobs);
    made.set(knobs, schema);
    return schema;
  };
}

/** The zod schema of a method's parameters as a strategy may write them: values or "auto". */
export const paramsSchema = madeOnce((knobs) => {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, knob] of Object.entries(knobs)) {
    shape[name] = valueSchema(knob).or(z.literal("auto")).optional()
      .meta({ description: `${knob.description} (${knob.unit})`, default: knob.default });
  }
  return z.strictObject(shape) as unknown as ParamsSchema;
});

/** The zod schema of parameters after resolution: every knob a value. */
export const resolvedSchema = madeOnce((knobs) => {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, knob] of Object.entries(knobs)) shape[name] = valueSchema(knob);
  return z.strictObject(shape) as unknown as ParamsSchema;
});
