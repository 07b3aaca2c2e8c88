import { setTimeout as delay } from "node:timers/promises";
import {
  type Chat,
  type ChatMessage,
  type ChatReply,
  firstObject,
  type Strategist,
} from "../../../core/mod.ts";
import { withoutSecrets } from "../../ground/http/without_secrets.ts";

/** Bytes of an answer that are read: what is longer has no end worth waiting for. */
const MOST_BYTES = 1_000_000;
/** Tokens that the model may answer with: a recipe and a reason are a few hundred. */
const ANSWER_TOKENS = 4096;
/** How often a busy server is asked again. */
const RETRIES = 3;
/** Answers in a row that never came whole, after which the server is left alone in this run. */
const MOST_SILENT = 2;
const BUSY = new Set([429, 502, 503, 504]);
/** Seconds before a busy server that says nothing of them is asked again. */
const USUAL_WAIT = 2;

/** Why there is no answer, as a clause. */
class NoReply extends Error {}

/**
 * An OpenAI-compatible server that is asked by /chat/completions. It never throws: what is no answer is
 * told in words, without the key. One deadline holds for an answer whole, with its waits.
 */
export function chatEndpoint(
  { base_url, model, timeout_seconds }: Strategist,
  key: string | undefined,
): Chat {
  const scrubbed = (text: string) => !key ? text : withoutSecrets(text, key).replaceAll(key, "***");
  let known = model;
  let silent = 0;
  return {
    base_url,
    async ask(messages, signal): Promise<ChatReply> {
      if (silent >= MOST_SILENT) {
        const reason =
          `${base_url}: not asked any more, as ${silent} answers in a row never came whole`;
        return { ok: false, reason, model: known };
      }
      const late = AbortSignal.timeout(1000 * timeout_seconds);
      const stop = AbortSignal.any([signal, late]);
      try {
        known ??= await onlyModel(base_url, key, stop);
        const plain = { model: known, messages };
        const ask = (body: Body) => patiently(() => completion(base_url, key, body, stop), stop);
        const text = await ask({ ...plain, max_tokens: ANSWER_TOKENS, temperature: 0 })
          .catch((error) => namesLimits(error) ? ask(plain) : Promise.reject(error));
        silent = 0;
        return { ok: true, text: scrubbed(text), model: known };
      } catch (error) {
        if (late.aborted && !signal.aborted) silent += 1;
        const why = late.aborted && !signal.aborted
          ? `no whole answer in ${timeout_seconds} s`
          : error instanceof NoReply
          ? error.message
          : signal.aborted
          ? "the study ended"
          : `it cannot be asked: ${error instanceof Error ? error.message : String(error)}`;
        return { ok: false, reason: scrubbed(`${base_url}: ${why}`), model: known };
      }
    },
  };
}

interface Body {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly max_tokens?: number;
  readonly temperature?: number;
}

/** Models that reason take neither a limit by that name nor a temperature, and their server says so. */
function namesLimits(error: unknown): boolean {
  return error instanceof Refused && /max_tokens|temperature/.test(error.said);
}

/** A refusal of what was asked. */
class Refused extends NoReply {
  constructor(status: number, readonly said: string) {
    super(`it refuses (${status})${said === "" ? "" : `: ${said}`}`);
  }
}

/** A server that is busy, and how long it wants to be left alone. */
class Busy extends NoReply {
  constructor(status: number, readonly wait: number) {
    super(`it is busy (${status})`);
  }
}

async function patiently<T>(ask: () => Promise<T>, stop: AbortSignal): Promise<T> {
  for (let retry = 0;; retry++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Busy) || retry === RETRIES) throw error;
      await delay(1000 * error.wait, undefined, { signal: stop });
    }
  }
}

async function send(url: string, key: string | undefined, init: RequestInit): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    ...(key ? { authorization: `Bearer ${key}` } : {}),
  };
  const response = await fetch(url, { ...init, headers, redirect: "manual" });
  if (response.ok) return response;
  const said = await start(response, key);
  const { status } = response;
  if (BUSY.has(status)) throw new Busy(status, waitOf(response));
  if (status >= 300 && status < 400) {
    throw new NoReply("it leads to another address: name that one");
  }
  throw new Refused(status, said);
}

/** Seconds of `Retry-After`, which may be a date. */
function waitOf(response: Response): number {
  const said = response.headers.get("retry-after");
  if (said === null) return USUAL_WAIT;
  const seconds = Number(said);
  const wait = Number.isFinite(seconds) ? seconds : (Date.parse(said) - Date.now()) / 1000;
  return Number.isFinite(wait) ? Math.max(0, wait) : USUAL_WAIT;
}

/** What a refusal says, in a line. */
async function start(response: Response, key: string | undefined): Promise<string> {
  const text = await whole(response).catch(() => "");
  return withoutSecrets(text, key).replaceAll(/\s+/g, " ").slice(0, 200);
}

/** The text of a body, part by part; whoever leaves the loop ends the connection. */
async function* parts(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new NoReply(`its answer is longer than ${MOST_BYTES} bytes`);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

async function whole(response: Response): Promise<string> {
  return (await Array.fromAsync(parts(response))).join("");
}

async function jsonOf(response: Response, key: string | undefined): Promise<unknown> {
  const text = withoutSecrets(await whole(response), key);
  try {
    return JSON.parse(text);
  } catch {
    const type = response.headers.get("content-type")?.split(";")[0] ?? "no type";
    const shown = text.replaceAll(/\s+/g, " ").slice(0, 80);
    throw new NoReply(`it answers with ${type}, which is no JSON: ${shown}`);
  }
}

async function completion(
  base_url: string,
  key: string | undefined,
  body: Body,
  signal: AbortSignal,
): Promise<string> {
  const init = { method: "POST", body: JSON.stringify({ ...body, stream: true }), signal };
  const response = await send(`${base_url}/chat/completions`, key, init);
  const streams = response.headers.get("content-type")?.includes("text/event-stream") === true;
  const text = streams
    ? await untilObject(response, key)
    : contentOf(await jsonOf(response, key), "message");
  if (text === null) throw new NoReply("its answer has no choices[0].message.content");
  if (text.trim() === "") throw new NoReply("its answer is empty");
  return text;
}

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? value as Fields : {}; // any field may be asked for

/** The text of a completion, or of a piece of one; null: it has none. */
function contentOf(answer: unknown, part: "message" | "delta"): string | null {
  const choices = fields(answer)["choices"];
  const content = fields(fields(Array.isArray(choices) ? choices[0] : null)[part])["content"];
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  return content.map((one) => String(fields(one)["text"] ?? "")).join("");
}

/** What a line of server-sent events adds to the answer. */
function pieceOf(line: string): string {
  const data = /^data:\s*(.*)$/.exec(line.trim())?.[1];
  if (data === undefined || data === "[DONE]") return "";
  try {
    return contentOf(JSON.parse(data), "delta") ?? "";
  } catch {
    throw new NoReply(`a piece of its answer is no JSON: ${data.slice(0, 80)}`);
  }
}

/**
 * The text of an answer that comes as server-sent events, up to its first whole object: what a model says
 * behind that, often without an end, is not waited for.
 */
async function untilObject(response: Response, key: string | undefined): Promise<string> {
  let text = "";
  let rest = "";
  for await (const part of parts(response)) {
    const lines = (rest + part).split("\n");
    rest = lines.pop()!;
    const more = lines.map((line) => pieceOf(withoutSecrets(line, key))).join("");
    text += more;
    if (!more.includes("}")) continue;
    const object = firstObject(text, { more: true });
    if (object !== null) return text.slice(0, object.end);
  }
  return text + pieceOf(withoutSecrets(rest, key));
}

/** The model of a server that lists one. */
async function onlyModel(
  base_url: string,
  key: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const list = fields(await jsonOf(await send(`${base_url}/models`, key, { signal }), key))["data"];
  const names = (Array.isArray(list) ? list : []).flatMap((one) => {
    const id = fields(one)["id"];
    return typeof id === "string" ? [id] : [];
  });
  if (names.length === 1) return names[0]!;
  const lists = names.length === 0 ? "none" : names.slice(0, 20).join(", ");
  throw new NoReply(`it lists ${lists}: name one by --strategist-model`);
}
