import { readFile } from "node:fs/promises";
import { UsageError } from "../../../core/mod.ts";

export type Param = string | number | boolean | null;

/** The statement itself, that of a `.sql` file, or for `-` what stands on standard input. */
export async function readStatement(given: string): Promise<string> {
  if (given === "-") return await new Response(Deno.stdin.readable).text();
  if (!/^\S+\.sql$/.test(given)) return given;
  try {
    return await readFile(given, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot read the query in ${given}: ${reason}`);
  }
}

function paramValue(text: string): Param {
  if (text === "null") return null;
  if (text === "true" || text === "false") return text === "true";
  const quoted = /^'(.*)'$/s.exec(text);
  if (quoted !== null) return quoted[1]!;
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
}

/**
 * Values of `NAME=VALUE` by name; a number, true, false and null are what they say, `'…'` is always
 * a text.
 */
export function parseParams(given: readonly string[]): Record<string, Param> {
  const params: Record<string, Param> = {};
  for (const one of given) {
    const [, name, value] = /^\$?(\w+)=(.*)$/s.exec(one) ?? [];
    if (name === undefined || value === undefined) {
      throw new UsageError(
        `Cannot take --param as NAME=VALUE, such as number=3 for $number: current value is "${one}"`,
      );
    }
    if (name in params) throw new UsageError(`Cannot take --param ${name} twice: give it once`);
    params[name] = paramValue(value);
  }
  return params;
}
