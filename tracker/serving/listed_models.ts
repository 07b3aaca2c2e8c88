import { z } from "zod";
import { boundedText } from "../ground/http/bounded.ts";
import { jsonOrNull } from "../ground/json_or_null.ts";
import { keyHeader, withoutKey } from "./key_header.ts";

const Models = z.object({ data: z.array(z.object({ id: z.string() })) });
const PATIENCE_MS = 10_000;

/**
 * Names of the models that a server lists; empty where it lists none. base_url: up to and with /v1. Throws
 * what fetch throws where nobody answers, and where the server says that it cannot tell now, or not to this key.
 */
export async function listedModels(base_url: string, signal?: AbortSignal): Promise<string[]> {
  const late = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(`${base_url}/models`, {
    redirect: "error",
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
    headers: keyHeader(),
  });
  const { status } = answer;
  const isRefused = status === 401 || status === 403;
  if (isRefused || status === 429 || status >= 500 && status !== 501) {
    await answer.body?.cancel();
    const key = isRefused ? ": it does not take the key in OPENAI_API_KEY, or wants one" : "";
    throw new Error(`/models is answered with ${status}${key}`);
  }
  const told = jsonOrNull(withoutKey(await boundedText(answer)));
  if (told === null && /\bjson\b/.test(answer.headers.get("content-type") ?? "")) {
    throw new Error("/models is answered with JSON that cannot be read");
  }
  const read = Models.safeParse(told);
  return read.success ? read.data.data.map(({ id }) => id) : [];
}
