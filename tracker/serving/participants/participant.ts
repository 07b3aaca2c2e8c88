import { type Message, type Part, Role, type SendMessageRequest, type Task } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { z } from "zod";
import { quotedText } from "../../../core/errors.ts";
import { progressOf, taskText, textOf } from "./answer_text.ts";
import { guardedFetch, ParticipantAway, ParticipantRefused, requireOwn } from "./guarded_fetch.ts";

/** How a participant is reached. */
export interface ParticipantAt {
  /** Where its card lies, or the folder of `.well-known/agent-card.json`. */
  readonly url: URL;
  /** Sent with every request as a bearer token; null: it wants none. */
  readonly key: string | null;
  /** For one whole answer, milliseconds. */
  readonly timeout_ms: number;
}

/** An agent that answers questions. */
export interface Participant {
  readonly name: string;
  /** One question, in the conversation `context` where one is given. @throws ParticipantRefused */
  ask(text: string, context?: string): Promise<{ readonly text: string; readonly context: string }>;
}

/** What is said where it asks back: there is nobody to ask. */
const NO_MORE = "There is nothing more to be told. Answer with what you have.";
const LONGEST_NAME = 200;
const POLL_MS = 200;
/** What is read of a card: cards of older versions come without what the newer must have. */
const Card = z.object({
  name: z.string(),
  supportedInterfaces: z.array(z.object({ url: z.string() })),
});

function part(text: string): Part {
  return {
    content: { $case: "text", value: text },
    metadata: undefined,
    filename: "",
    mediaType: "text/plain",
  };
}

function request(text: string, contextId: string, taskId: string): SendMessageRequest {
  const message: Message = {
    messageId: crypto.randomUUID(),
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts: [part(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return { tenant: "", message, configuration: undefined, metadata: undefined };
}

/** Ids of tasks that were given to questions: none may come for another one. */
class Ids {
  readonly #own = new Set<string>();

  /** The task that one question has; another's, or a second one, is refused. */
  owner() {
    let mine = "";
    return (id: string) => {
      if (id === "" || id === mine) return;
      if (mine !== "" || this.#own.has(id)) {
        throw new ParticipantRefused("it answers with the task of another question");
      }
      mine = id;
      this.#own.add(id);
    };
  }
}

/** Reads the card of an agent and makes ready to ask it. @throws ParticipantRefused */
export async function openParticipant(at: ParticipantAt): Promise<Participant> {
  const headers = at.key === null ? {} : { authorization: `Bearer ${at.key}` };
  const fetchImpl = guardedFetch(at.url, headers);
  const legacyCompat = { enabled: true };
  const options = { fetchImpl, legacyCompat };
  const resolver = new DefaultAgentCardResolver(options);
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    cardResolver: resolver,
  });
  const whole = at.url.pathname.endsWith(".json");
  const card = await within(
    at.timeout_ms,
    "it gave no card",
    () => resolver.resolve(at.url.href, whole ? "" : undefined),
  ).catch((error) => {
    throw said("its card cannot be read", error);
  });
  const { success, data: read } = Card.safeParse(card);
  if (!success) {
    throw new ParticipantRefused(
      "its card cannot be read: it has no name or no list of interfaces",
    );
  }
  const urls = read.supportedInterfaces.map(({ url }) => url);
  if (urls.length === 0) throw new ParticipantRefused("its card names no interface");
  for (const url of urls) {
    if (!URL.canParse(url)) {
      throw new ParticipantRefused(`its card names an address that is none: ${quotedText(url)}`);
    }
    requireOwn(new URL(url), at.url, "its card names");
  }
  const client = await factory.createFromAgentCard(card).catch((error) => {
    throw said("its card names no interface that is spoken here", error);
  });
  const streams = card.capabilities?.streaming === true;
  const ids = new Ids();
  return {
    name: read.name.slice(0, LONGEST_NAME),
    ask: (text, context = "") => new Asking(client, at.timeout_ms, ids, streams).ask(text, context),
  };
}

/** A failure in a sentence; what was refused already stays as it is. */
function said(what: string, error: unknown): Error {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ParticipantRefused || at instanceof ParticipantAway) return at;
  }
  const message = error instanceof Error ? error.message : String(error);
  return new ParticipantRefused(`${what}: ${message.replace(/\s+/g, " ").slice(0, 200)}`);
}

/** What comes within a time; else the sentence, with the seconds. */
async function within<T>(ms: number, sentence: string, make: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ParticipantRefused(`${sentence} within ${ms / 1000} s`)),
      ms,
    );
  });
  try {
    return await Promise.race([make(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** One question from its asking to its answer. */
class Asking {
  readonly #ended = new AbortController();
  readonly #owns: (id: string) => void;
  #task: string | null = null;
  #context = "";

  constructor(
    readonly client: Client,
    readonly timeout_ms: number,
    ids: Ids,
    readonly streams: boolean,
  ) {
    this.#owns = ids.owner();
  }

  async ask(text: string, context: string) {
    this.#context = context;
    try {
      const answer = await within(
        this.timeout_ms,
        this.streams ? "its stream did not end" : "it did not answer",
        () => this.#answer(text),
      );
      return { text: answer, context: this.#context };
    } catch (error) {
      if (this.#task !== null) this.#cancel(this.#task);
      throw said("it did not answer", error);
    } finally {
      this.#ended.abort();
    }
  }

  /** It is told to stop; whether it does is its own affair. */
  #cancel(id: string): void {
    const signal = AbortSignal.timeout(2000);
    this.client.cancelTask({ tenant: "", id, metadata: undefined }, { signal }).catch(() => {});
  }

  async #answer(text: string): Promise<string> {
    let found = await this.#once(text);
    if (found.asks) found = await this.#once(NO_MORE);
    if (found.asks) throw new ParticipantRefused("it asks back twice and does not answer");
    return found.text;
  }

  async #once(text: string): Promise<{ asks: boolean; text: string }> {
    const sent = request(text, this.#context, this.#task ?? "");
    if (this.streams) return await this.#streamed(sent);
    const answer = await this.client.sendMessage(sent, { signal: this.#ended.signal });
    return "status" in answer ? await this.#ofTask(answer) : this.#ofMessage(answer);
  }

  #ofMessage(message: Message) {
    this.#heed(message.taskId, message.contextId);
    return { asks: false, text: textOf(message) };
  }

  #heed(task: string, context: string): void {
    this.#owns(task);
    if (task !== "") this.#task = task;
    if (context !== "") this.#context = context;
  }

  /** Asks how far a task is until it is done, or asks back. */
  async #ofTask(first: Task) {
    let task = first;
    for (;;) {
      this.#heed(task.id, task.contextId);
      const progress = progressOf(task);
      if (progress !== "goes on") return { asks: progress === "asks", text: taskText(task) };
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const { signal } = this.#ended;
      signal.throwIfAborted();
      task = await this.client.getTask({ tenant: "", id: task.id }, { signal });
    }
  }

  async #streamed(sent: SendMessageRequest) {
    const parts = new Map<string, string>();
    let last = "";
    for await (
      const { payload } of this.client.sendMessageStream(sent, { signal: this.#ended.signal })
    ) {
      if (payload?.$case === "message") return this.#ofMessage(payload.value);
      if (payload?.$case === "task") {
        this.#heed(payload.value.id, payload.value.contextId);
        const progress = progressOf(payload.value);
        if (progress !== "goes on") {
          return { asks: progress === "asks", text: taskText(payload.value) };
        }
      }
      if (payload?.$case === "artifactUpdate") {
        const { taskId, contextId, artifact, append } = payload.value;
        this.#heed(taskId, contextId);
        const id = artifact?.artifactId ?? "";
        parts.set(id, `${append ? parts.get(id) ?? "" : ""}${textOf(artifact)}`);
      }
      if (payload?.$case === "statusUpdate") {
        const { taskId, contextId, status } = payload.value;
        this.#heed(taskId, contextId);
        last = textOf(status?.message) || last;
        const progress = progressOf(payload.value);
        if (progress !== "goes on") {
          const made = [...parts.values()].filter((one) => one !== "").join("\n");
          return { asks: progress === "asks", text: made === "" ? last : made };
        }
      }
    }
    throw new ParticipantRefused("its stream ended before its task did");
  }
}
