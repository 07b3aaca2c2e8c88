import { unknownName, UsageError } from "../errors.ts";
import type { Method } from "./plugin.ts";

/** Case and separators do not tell names apart: "Neural Compressor" is neural_compressor. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

/**
 * The error for a method that nobody has: what stands for another project's tool here, where a method
 * says so (`named_for`), else the nearest name and all of them.
 */
export function unknownMethod(kind: string, name: string, methods: readonly Method[]): UsageError {
  const said = methods.flatMap(({ named_for = {} }) => Object.entries(named_for))
    .find(([other]) => plain(other) === plain(name));
  if (said !== undefined) return new UsageError(`Unknown ${kind} "${name}": ${said[1]}`);
  return new UsageError(unknownName(kind, name, methods.map((one) => one.name)));
}
