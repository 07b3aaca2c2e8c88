import { nearestName, UsageError } from "../../../core/mod.ts";
import { DISPLAY, type Shown } from "../../ground/terminal/kernel.ts";

/** What the language asks of any value, and the kernel, which looks for data frames: nobody's slip. */
const ASKED_OF_ALL: ReadonlySet<PropertyKey> = new Set(["then", "toJSON", "schema"]);

/**
 * Tells a name that a value does not have, in place of `undefined`. The value stays as it is, for
 * completions too: what misses goes on to its prototype, and that one tells.
 */
function tellMisses(value: object, tell: (name: PropertyKey) => void): void {
  const missed = Object.create(Object.getPrototypeOf(value)); // so that `instanceof` holds
  const get = (target: object, name: PropertyKey, self: unknown) => {
    if (!(name in target) && !ASKED_OF_ALL.has(name)) tell(name);
    return Reflect.get(target, name, self);
  };
  Object.setPrototypeOf(value, new Proxy(missed, { get }));
}

/** A name that there is not is told in a sentence, with the nearest that there is. */
export function tellUnknownNames<Value extends object>(what: string, value: Value): Value {
  const known = Object.keys(value);
  const called = (name: string) =>
    typeof value[name as keyof Value] === "function" ? `${name}()` : name;
  tellMisses(value, (name) => {
    if (typeof name !== "string") return;
    const near = nearestName(name, known);
    const hint = near === undefined ? "" : ` Did you mean ${called(near)}?`;
    throw new UsageError(
      `Cannot take ${what}.${name} as there is no such name.${hint} Known: ` +
        known.map(called).sort().join(", "),
    );
  });
  return value;
}

/**
 * What is asked of a promise, or of its rows, before it is awaited is told in a sentence; as a cell's
 * last value it shows what comes of it.
 */
function tellUnawaited(call: string, promise: Promise<unknown>): void {
  const media = async () => {
    const value = await promise;
    const display = (value as Partial<Shown> | null | undefined)?.[DISPLAY];
    return await display?.call(value) ?? { "text/plain": Deno.inspect(value) };
  };
  Object.defineProperty(promise, DISPLAY, { value: media });
  tellMisses(promise, (name) => {
    if (typeof name !== "string" && name !== Symbol.iterator) return;
    promise.catch(() => {}); // one sentence is enough
    const taken = typeof name === "string" ? `.${name}` : "its rows";
    throw new UsageError(
      `Cannot take ${taken} of what ${call}(…) gives as it is not awaited: write (await ${call}(…))`,
    );
  });
}

/**
 * What a notebook's cells work with, whose usual slips are sentences: a name that there is not, and
 * an answer that was not awaited. Cells are not checked for types, and a kernel shows a stack else.
 */
export function forCells<Value extends object>(what: string, value: Value): Value {
  for (const [name, call] of Object.entries(value)) {
    if (typeof call !== "function") continue;
    const told = (...given: unknown[]) => {
      const answer = call.apply(value, given);
      if (answer instanceof Promise) tellUnawaited(`${what}.${name}`, answer);
      return answer;
    };
    Object.defineProperty(value, name, { value: told, enumerable: true });
  }
  return tellUnknownNames(what, value);
}
