import type { KnobValue } from "../schemas/action.ts";
import { unknownName, UsageError } from "../errors.ts";
import { type Knobs, type ParamsOf, resolvedSchema, type SomeParamsOf } from "./knobs.ts";

/** How a runtime keeps and computes keys and values where that can be set: its Python half is `caches.py`. */
export interface RuntimeCaches<K extends Knobs = Knobs> {
  readonly knobs: K;
  /** Whether it lets go of tokens after a prompt: a text that is given shows nothing of that. */
  readonly forgets: boolean;
  /** What is measured where nobody names any. The first keeps everything: others are held against it. */
  readonly settings: Readonly<Record<string, SomeParamsOf<K>>>;
  /** What is measured beside those of a study that counts its cache at so many tokens. Absent: nothing. */
  sized?(tokens: number): readonly SomeParamsOf<K>[];
  /** Why these values fit neither each other nor the runtime, as the end of a sentence; null: they do. */
  refuses(params: ParamsOf<K>): string | null;
  /** What the runtime's own program, or library, is told to compute so; empty: nothing. Absent: it has none. */
  launch?(params: ParamsOf<K>): string[];
}

/** Returns its argument; types its settings by the knobs that declare them. */
export function defineCaches<const K extends Knobs>(caches: RuntimeCaches<K>): RuntimeCaches {
  // Whoever holds the caches of every runtime gives each the values that its own knobs have checked.
  return caches as unknown as RuntimeCaches;
}

/** A way of keeping keys and values, with a value for every knob. */
export interface CacheSetting {
  readonly name: string;
  readonly params: Readonly<Record<string, KnobValue>>;
}

/** A setting of a runtime's by its name. Throws `UsageError` where there is none. */
export function namedCache({ settings }: RuntimeCaches, name: string): Record<string, KnobValue> {
  if (Object.hasOwn(settings, name)) return { ...settings[name] };
  throw new UsageError(unknownName("setting of the cache", name, Object.keys(settings)));
}

/** The setting with these values, the others as declared. Throws `UsageError` where it is none. */
export function resolveCache(
  { knobs, refuses }: RuntimeCaches,
  name: string,
  given: Readonly<Record<string, KnobValue>>,
): CacheSetting {
  const start = `Cannot keep a cache as ${name}`;
  const known = Object.keys(knobs);
  const stranger = Object.keys(given).find((one) => !known.includes(one));
  if (stranger !== undefined) {
    throw new UsageError(`${start}: ${unknownName("knob", stranger, known)}`);
  }
  const params = Object.fromEntries(
    known.map((knob) => [knob, given[knob] ?? knobs[knob]!.default]),
  );
  const parsed = resolvedSchema(knobs).safeParse(params);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const knob = String(issue?.path[0] ?? known[0]);
    throw new UsageError(
      `${start}: ${knob} cannot be ${JSON.stringify(params[knob])}, ${rangeText(knobs, knob)}`,
    );
  }
  const reason = refuses(parsed.data);
  if (reason !== null) throw new UsageError(`${start}: ${reason}`);
  return { name, params: parsed.data };
}

/** What a knob takes, as the end of a sentence. */
function rangeText(knobs: Knobs, name: string): string {
  const { choices, minimum, maximum, unit, kind } = knobs[name]!;
  if (choices !== null) return `it is one of ${choices.join(", ")}`;
  if (kind === "flag") return "it is true or false";
  return `it is a ${
    kind === "integer" ? "whole number" : "number"
  } from ${minimum} to ${maximum} (${unit})`;
}
