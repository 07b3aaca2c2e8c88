import { z } from "zod";
import { baseUrl, unknownName, UsageError } from "../../../core/mod.ts";
import { boundedText } from "../../ground/http/bounded.ts";
import { jsonOrNull } from "../../ground/json_or_null.ts";
import { keyHeader } from "../key_header.ts";
import { askStream, type LoadTarget } from "./ask_stream.ts";

const Models = z.object({ data: z.array(z.object({ id: z.string() })) });
const PATIENCE_MS = 10_000;
const PROBE_SECONDS = 120;

async function listed(base_url: string, signal: AbortSignal): Promise<string[]> {
  let text: string;
  try {
    const answer = await fetch(`${base_url}/models`, {
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
      headers: keyHeader(),
    });
    text = await boundedText(answer);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(
      `Cannot load ${base_url}: nobody answers there (${
        error instanceof Error ? error.message : error
      }); \`pare serve\` starts a server`,
    );
  }
  const read = Models.safeParse(jsonOrNull(text));
  return read.success ? read.data.data.map(({ id }) => id) : [];
}

/** A server as it is asked: its model, by completions or by chat, and whether answers can be made whole. */
export async function findTarget(
  url: string,
  named: string | undefined,
  output_tokens: number,
  signal: AbortSignal,
): Promise<LoadTarget> {
  const base_url = baseUrl(url);
  const models = await listed(base_url, signal);
  const [only] = models;
  const model = named ?? (models.length === 1 ? only : undefined);
  if (model === undefined) {
    throw new UsageError(
      `Cannot load ${base_url}: it lists ${models.length} models; name one by --served-model`,
    );
  }
  if (models.length > 0 && !models.includes(model)) {
    throw new UsageError(`Cannot load ${base_url}: ${unknownName("model", model, models)}`);
  }
  const reasons: string[] = [];
  for (const completes of [true, false]) {
    for (const ignores_ends of [true, false]) {
      const target = { base_url, model, completes, ignores_ends };
      const { error } = await askStream(target, {
        prompt: "One two three",
        output_tokens: Math.min(2, output_tokens),
        answer_seconds: PROBE_SECONDS,
        signal,
      });
      if (error === null) return target;
      reasons.push(error);
    }
  }
  throw new UsageError(`Cannot load ${base_url}: it streams no answer (${reasons.at(-1)})`);
}
