import type { Context } from "hono";
import type { z } from "zod";
import { unknownName, UsageError } from "../../../core/mod.ts";
import { parseJson } from "../../lab/data/parse_json.ts";
import { Refused } from "../refused.ts";

/** Bytes of a request's body at most. */
export const MOST_BYTES = 1 << 20;

function sentenceOf(issue: z.core.$ZodIssue, given: unknown, known: readonly string[]): string {
  const field = issue.path.join(".");
  if (issue.code === "unrecognized_keys") return unknownName("field", issue.keys[0]!, known);
  const value = issue.path.reduce<unknown>(
    (at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step],
    given,
  );
  if (value === undefined) return `Cannot answer without "${field}": it is not given`;
  if (issue.code === "invalid_value" && typeof value === "string") {
    return unknownName(`value of "${field}"`, value, issue.values.map(String));
  }
  const shown = JSON.stringify(value)?.slice(0, 60);
  const why = issue.message.replace(/^Invalid input: /, "");
  return `Cannot take ${field === "" ? "the request" : `"${field}"`}: ${shown} is refused (${why})`;
}

/** What a request gave, checked; a fault is a sentence that names the field and its value. */
export function checked<S extends z.ZodType>(schema: S, given: unknown): z.output<S> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const known = "shape" in schema ? Object.keys(schema.shape as object) : [];
  throw new UsageError(
    parsed.error.issues.map((issue) => sentenceOf(issue, given, known)).join("; "),
  );
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const tooLong = () =>
    new Refused(413, `Cannot take a body of more than ${MOST_BYTES} bytes: send less`);
  if (Number(request.headers.get("content-length") ?? 0) > MOST_BYTES) throw tooLong();
  const parts: Uint8Array[] = [];
  let read = 0;
  for await (const part of request.body ?? []) {
    read += part.length;
    if (read > MOST_BYTES) throw tooLong();
    parts.push(part);
  }
  const whole = new Uint8Array(read);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The text of a body of limited size. */
export async function readText(c: Context): Promise<string> {
  return new TextDecoder().decode(await readBytes(c.req.raw));
}

/** The JSON of a body; a form sent by another page is none. */
export async function readJson(c: Context): Promise<unknown> {
  const type = c.req.header("content-type") ?? "";
  if (!/^application\/json\b/i.test(type)) {
    throw new UsageError(
      `Cannot take the body as "${type.slice(0, 60)}": send it as application/json`,
    );
  }
  const text = await readText(c);
  try {
    return parseJson(text);
  } catch (error) {
    const reason = String(error instanceof Error ? error.message : error)
      .replace(/[^\x20-\x7e]+/g, " ").slice(0, 160);
    throw new UsageError(`Cannot read the body as JSON: ${reason}`);
  }
}
