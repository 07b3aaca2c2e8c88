import { baseUrl, unknownName, UsageError } from "../../../core/mod.ts";
import { listedModels } from "../listed_models.ts";
import { askStream, type LoadTarget } from "./ask_stream.ts";

const PROBE_SECONDS = 120;

async function listed(base_url: string, signal: AbortSignal): Promise<string[]> {
  try {
    return await listedModels(base_url, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { name, message } = error as Error;
    throw new UsageError(
      name === "Error"
        ? `Cannot load ${base_url}: ${message}`
        : `Cannot load ${base_url}: nobody answers there (${message}); \`pare serve\` starts a server`,
    );
  }
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
