import { EngineError } from "../../../../core/jobs/engine.ts";
import { boundedText } from "../../../ground/http/bounded.ts";
import { withoutSecrets } from "../../../ground/http/without_secrets.ts";

/** Bytes of an answer: a list of 10,000 jobs has about five million. */
const LONGEST = 32 << 20;

/** A head's address and what it is told. */
export interface RayHead {
  readonly name: string;
  /** Such as http://127.0.0.1:8265 */
  readonly url: string;
  readonly token: string;
  /** Where a user gives the token, for the sentence. */
  readonly token_from: string;
  /** How long one answer may take: a first submission took a head 3.6 s. */
  readonly timeout_ms?: number;
}

export interface RayAnswer {
  readonly status: number;
  readonly text: string;
}

/** Asks a head, and takes any answer but a refusal of the token. */
export async function askRay(
  attempt: string,
  { name, url, token, token_from, timeout_ms = 60_000 }: RayHead,
  path: string,
  body?: unknown,
): Promise<RayAnswer> {
  let answer: RayAnswer;
  try {
    const asked = await fetch(`${url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeout_ms),
      redirect: "error", // the token is for this address alone
    });
    const text = withoutSecrets(await boundedText(asked, LONGEST), token);
    answer = { status: asked.status, text };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError("down", `Cannot ${attempt} as ${name} gives no answer: ${why}`);
  }
  if (answer.status !== 401 && answer.status !== 403) return answer;
  throw new EngineError(
    "refused",
    `Cannot ${attempt} as ${name} does not take the token of ${token_from}: give the one that its ` +
      "head was started with",
  );
}

/** The answer as the document that it must be. */
export function documentOf(
  attempt: string,
  { name }: RayHead,
  { status, text }: RayAnswer,
): unknown {
  const said = text.trim().split("\n").at(-1)!.slice(0, 200);
  if (status >= 200 && status < 300) {
    try {
      return JSON.parse(text);
    } catch {
      throw new EngineError("down", `Cannot ${attempt} as ${name} answered no JSON: ${said}`);
    }
  }
  const kind = status >= 500 || status === 408 || status === 429 ? "down" : "refused";
  throw new EngineError(kind, `Cannot ${attempt} as ${name} answered ${status}: ${said}`);
}
