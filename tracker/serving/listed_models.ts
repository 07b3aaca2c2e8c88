import { z } from "zod";
import { boundedText } from "../ground/http/bounded.ts";
import { jsonOrNull } from "../ground/json_or_null.ts";
import { keyHeader, withoutKey } from "./key_header.ts";

const Models = z.object({ data: z.array(z.object({ id: z.string() })) });
const PATIENCE_MS = 10_000;

/**
 * Names of the models that a server lists; empty where it lists none. base_url: up to and with /v1. Throws
 * what fetch throws where nobody answers, and where the server says that it cannot tell now.
 */
export async function listedModels(base_url: string, signal?: AbortSignal): Promise<string[]> {
  const late = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(`${base_url}/models`, {
    redirect: "error",
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
    headers: keyHeader(),
  });
  if (answer.status === 429 || answer.status >= 500 && answer.status !== 501) {
    await answer.body?.cancel();
    throw new Error(`/models is answered with ${answer.status}`);
  }
  const read = Models.safeParse(jsonOrNull(withoutKey(await boundedText(answer))));
  return read.success ? read.data.data.map(({ id }) => id) : [];
}
