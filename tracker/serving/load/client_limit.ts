import { seededRandom, summarize } from "../../../core/mod.ts";
import type { LoadTarget } from "./ask_stream.ts";
import { runPart, type StepAsked } from "./run_step.ts";

const SECONDS = 1.5;
const AT_A_TIME = 16;

/** What the client can do at most, on this machine and now. */
export interface ClientLimit {
  readonly requests_per_second: number;
  readonly tokens_per_second: number;
}

/** Loads a server that does nothing, with answers of the same length. */
export async function clientLimit(
  asked: Pick<StepAsked, "prompt_tokens" | "output_tokens" | "answer_seconds">,
  signal: AbortSignal,
): Promise<ClientLimit> {
  const worker = new Worker(import.meta.resolve("./null_server.ts"), { type: "module" });
  try {
    const port = await new Promise<number>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
    const target: LoadTarget = {
      base_url: `http://127.0.0.1:${port}/v1`,
      model: "null",
      completes: true,
      ignores_ends: true,
    };
    const step: StepAsked = {
      ...{ ...asked, load: "concurrency", level: AT_A_TIME, arrivals: "constant", warming: 4 },
      seconds: SECONDS,
    };
    const state = { done: [], random: seededRandom(0), active_ms: 0 };
    await runPart(target, step, state, signal);
    const found = summarize(state.done, { first_token_ms: null, between_tokens_ms: null });
    return {
      requests_per_second: found.requests_per_second,
      tokens_per_second: found.output_tokens_per_second,
    };
  } finally {
    worker.terminate();
  }
}
