import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { boundedText } from "../ground/http/bounded.ts";
import { jsonOrNull } from "../ground/json_or_null.ts";
import { keyHeader, withoutKey } from "./key_header.ts";

/** A server that answers. */
export interface Ready {
  readonly seconds_to_health: number;
  /** Of one short request once it was healthy. */
  readonly first_token_seconds: number;
}

/** Why a server is not ready. */
export class NotReady extends Error {
  override name = "NotReady";
}

const POLL_MS = 150;
const ANSWER_MS = 60_000;
const JSON_BODY = { "content-type": "application/json" };

const Models = z.object({ data: z.array(z.object({ id: z.string() })).min(1) });

/** A server's status; null: it does not answer. */
async function ask(
  url: string,
  signal: AbortSignal,
  body?: Record<string, unknown>,
): Promise<{ status: number; text: string } | null> {
  try {
    const answer = await fetch(url, {
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
      headers: { ...keyHeader(), ...(body === undefined ? {} : JSON_BODY) },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: withoutKey(await boundedText(answer)) };
  } catch {
    return null;
  }
}

/** The models that a server lists; null: it is not healthy yet. */
async function listedModels(origin: string, signal: AbortSignal): Promise<string[] | null> {
  const health = await ask(`${origin}/health`, signal);
  if (health === null || (health.status !== 200 && health.status !== 404)) return null;
  const models = await ask(`${origin}/v1/models`, signal);
  if (models?.status !== 200) return null;
  const read = Models.safeParse(jsonOrNull(models.text));
  return read.success ? read.data.data.map(({ id }) => id) : null;
}

/** Asks for one token, by completions or, where there are none, by a chat. */
async function firstToken(origin: string, model: string, signal: AbortSignal): Promise<void> {
  const decoding = { model, max_tokens: 1, temperature: 0 };
  const completion = await ask(`${origin}/v1/completions`, signal, { ...decoding, prompt: "The" });
  const answer = completion?.status === 404 || completion?.status === 405
    ? await ask(`${origin}/v1/chat/completions`, signal, {
      ...decoding,
      messages: [{ role: "user", content: "Hello" }],
    })
    : completion;
  if (answer?.status === 200) return;
  throw new NotReady(
    `it is healthy and gives no token: ${
      answer === null ? "no answer" : `${answer.status} ${answer.text.slice(0, 300)}`
    }`,
  );
}

/**
 * Waits for a server's health and a first token. Throws `NotReady` where it has neither in time, ends
 * before, or another one answers there; whatever the signal says where that aborts.
 */
export async function awaitReady(
  origin: string,
  { model, wait_seconds, ended, signal }: {
    /** By which it is to know its model. */
    model: string;
    wait_seconds: number;
    /** Settles where the server has ended. */
    ended: Promise<unknown>;
    signal: AbortSignal;
  },
): Promise<Ready> {
  const began = performance.now();
  const gone = new AbortController();
  void ended.then(() => gone.abort());
  const stop = AbortSignal.any([signal, gone.signal]);
  const seconds = () => (performance.now() - began) / 1000;
  const check = () => {
    signal.throwIfAborted();
    if (gone.signal.aborted) throw new NotReady("it ended before it was healthy");
  };
  const patience = AbortSignal.any([stop, AbortSignal.timeout(1000 * wait_seconds)]);
  let models: string[] | null = null;
  while ((models = await listedModels(origin, patience)) === null) {
    check();
    if (patience.aborted) {
      throw new NotReady(`it was not healthy after ${Math.round(wait_seconds)} s`);
    }
    await delay(POLL_MS);
  }
  check();
  if (!models.includes(model)) {
    throw new NotReady(
      `another server answers at ${origin}, whose model is ${models[0]}: address already in use`,
    );
  }
  const seconds_to_health = seconds();
  try {
    await firstToken(origin, model, stop);
  } catch (error) {
    check();
    throw error;
  }
  check();
  return { seconds_to_health, first_token_seconds: seconds() - seconds_to_health };
}
