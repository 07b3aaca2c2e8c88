import type { LoadRequest } from "../../../core/mod.ts";
import { boundedText, eventData } from "../../ground/http/bounded.ts";
import { keyHeader, withoutKey } from "../key_header.ts";

/** A server that is loaded. */
export interface LoadTarget {
  /** Such as http://127.0.0.1:8000/v1. */
  readonly base_url: string;
  readonly model: string;
  /** Whether it has /completions; else it is asked by chat. */
  readonly completes: boolean;
  /** Whether it takes `ignore_eos`, so that answers are as long as asked. */
  readonly ignores_ends: boolean;
}

export type Answered = Pick<
  LoadRequest,
  | "first_token_ms"
  | "between_tokens_ms"
  | "latency_ms"
  | "prompt_tokens"
  | "output_tokens"
  | "error"
>;

function bodyOf(target: LoadTarget, prompt: string, output_tokens: number) {
  const asked = {
    model: target.model,
    max_tokens: output_tokens,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
    ...(target.ignores_ends ? { ignore_eos: true } : {}),
  };
  return target.completes
    ? { ...asked, prompt }
    : { ...asked, messages: [{ role: "user", content: prompt }] };
}

interface Chunk {
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: { readonly content?: string | null };
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
}

/** Events beyond what was asked for that are taken: some servers send a token in parts. */
const EVENTS_A_TOKEN = 8;
const MOST_REFUSAL = 64 << 10;

const NOTHING: Answered = {
  first_token_ms: null,
  between_tokens_ms: null,
  latency_ms: null,
  prompt_tokens: null,
  output_tokens: null,
  error: null,
};

/** One streamed answer with its moments; what goes wrong is its error, and never thrown. */
export async function askStream(
  target: LoadTarget,
  { prompt, output_tokens, answer_seconds, signal }: {
    prompt: string;
    output_tokens: number;
    /** An answer that is not whole by then has failed. */
    answer_seconds: number;
    signal: AbortSignal;
  },
): Promise<Answered> {
  const limit = AbortSignal.timeout(1000 * answer_seconds);
  const began = performance.now();
  const since = () => performance.now() - began;
  const path = target.completes ? "completions" : "chat/completions";
  try {
    const answer = await fetch(`${target.base_url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...keyHeader() },
      body: JSON.stringify(bodyOf(target, prompt, output_tokens)),
      redirect: "error", // the key goes to the server that was named, and to no other
      signal: AbortSignal.any([signal, limit]),
    });
    if (answer.status !== 200) {
      return {
        ...NOTHING,
        error: `${answer.status} ${
          withoutKey(await boundedText(answer, MOST_REFUSAL)).slice(0, 200)
        }`,
      };
    }
    let [first, last, chunks] = [0, 0, 0];
    let usage: Chunk["usage"] = null;
    let events = 0;
    let whole = false;
    for await (const line of eventData(answer.body!)) {
      whole = line === "[DONE]";
      if (whole) break;
      if (++events > EVENTS_A_TOKEN * (output_tokens + 1)) {
        throw new Error(
          `it goes on after ${events - 1} events, ${output_tokens} tokens were asked`,
        );
      }
      const chunk = JSON.parse(line) as Chunk; // fields are looked at one by one
      if (chunk.error !== undefined) {
        throw new Error(chunk.error.message ?? "an error in the stream");
      }
      usage = chunk.usage ?? usage;
      const [choice] = chunk.choices ?? [];
      if ((choice?.text ?? choice?.delta?.content ?? "") === "") continue;
      last = since();
      if (chunks++ === 0) first = last;
    }
    if (!whole) throw new Error("its stream ended without [DONE]");
    const latency_ms = since();
    const written = usage?.completion_tokens ?? chunks;
    return {
      first_token_ms: chunks === 0 ? null : first,
      between_tokens_ms: chunks < 2 || written < 2 ? null : (last - first) / (written - 1),
      latency_ms,
      prompt_tokens: usage?.prompt_tokens ?? null,
      output_tokens: written,
      error: null,
    };
  } catch (error) {
    if (limit.aborted && !signal.aborted) {
      return { ...NOTHING, error: `it was not whole after ${answer_seconds} s` };
    }
    return {
      ...NOTHING,
      error: withoutKey(String(error instanceof Error ? error.message : error)).slice(0, 200),
    };
  }
}
