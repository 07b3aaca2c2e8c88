/** Clients of HTTP, each with a sound server: what the loop of answers drives. */
import { join } from "node:path";
import { connectionOf } from "../../../tracker/exchange/mlflow/client/connection.ts";
import { PATIENCE } from "../../../tracker/exchange/mlflow/client/http.ts";
import { chatEndpoint } from "../../../tracker/lab/search/chat_endpoint.ts";
import { fetchHubFile } from "../../../tracker/lab/serving/hub_config.ts";
import { listedModels } from "../../../tracker/serving/listed_models.ts";
import { toolParticipant } from "../../../tracker/serving/participants/tool_participant.ts";
import { mirrorTo, recordSmallStudy } from "../../tracker/exchange/mlflow/mirror_world.ts";
import { scriptedMlflow } from "./scripted_mlflow.ts";

export const SECRET = "a-token-of-the-loop";
/** On a machine that does other work, too, a sound answer comes sooner. */
export const TIMEOUT_MS = 2_000;
/** Longer than they wait, and for the hub, which has 15 s, a moment. */
export const LATE_MS = 2 * TIMEOUT_MS;

/** A sound server. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  /** What it was brought to hold, in the same words however often a request came. */
  readonly held: () => unknown;
}

/** One whole work of a client against a server that may be any. */
export interface Client {
  readonly name: string;
  /** Writes once, into an empty folder, what every point begins with. */
  prepare?(folder: string): Promise<void>;
  serve(): Served;
  /** What it came to; throws one sentence. `folder` is the point's own; a second call goes on. */
  work(url: string, folder: string): Promise<unknown>;
  /** Ends what it keeps between two works. */
  end?(): void;
}

export function sound(answer: (request: Request) => Response | Promise<Response>): Served {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    held: () => null,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

export const completion = (content: string) =>
  Response.json({ choices: [{ message: { content } }] });

const CALL = {
  content: null,
  tool_calls: [{ id: "c", function: { name: "calculator", arguments: '{"expression":"2+2"}' } }],
};

/** A server of OpenAI's interface that calls a tool first, and then answers. */
function chatServer(): Served {
  return sound(async (request) => {
    if (request.method === "GET") return Response.json({ data: [{ id: "m" }] });
    const { messages } = await request.json();
    if (messages.length > 1) return completion('{"said": "four"}');
    return Response.json({ choices: [{ message: CALL }] });
  });
}

const served: Client = {
  name: "a served model",
  serve: chatServer,
  async work(url) {
    const base_url = `${url}/v1`;
    const names = await listedModels(base_url, AbortSignal.timeout(TIMEOUT_MS));
    const model = { base_url, model: "m", key: SECRET, timeout_ms: TIMEOUT_MS };
    return { names, said: (await toolParticipant(model).ask("two and two?")).text };
  },
};

const strategist: Client = {
  name: "a model that proposes",
  serve: () =>
    sound((request) =>
      request.method === "GET"
        ? Response.json({ data: [{ id: "m" }] })
        : completion('{"method": "rtn"}')
    ),
  async work(url) {
    const asked = { base_url: `${url}/v1`, model: null, timeout_seconds: TIMEOUT_MS / 1000 };
    const chat = chatEndpoint(asked as Parameters<typeof chatEndpoint>[0], SECRET);
    const reply = await chat.ask([{ role: "user", content: "?" }], new AbortController().signal);
    if (!reply.ok) throw new Error(reply.reason);
    return reply.text;
  },
};

const CONFIG = { model_type: "llama", hidden_size: 64, vocab_size: 320 };

const hub: Client = {
  name: "the hub",
  serve: () => sound(() => Response.json(CONFIG)),
  work: (url) =>
    fetchHubFile("own/model", "config.json", { HF_ENDPOINT: url, HF_TOKEN: SECRET, HOME: "/" }),
};

const STUDY = "s1";

const mirror: Client = {
  name: "the mirror",
  async prepare(folder) {
    const end = await recordSmallStudy(join(folder, "store"), STUDY);
    Deno.writeTextFileSync(join(folder, "end"), String(end));
  },
  serve: scriptedMlflow,
  async work(url, folder) {
    const to = mirrorTo(url, join(folder, "store"), {
      checkpoints: "none",
      connection: connectionOf(url, { MLFLOW_TRACKING_TOKEN: SECRET }),
      patience: {
        ...PATIENCE,
        ...{ timeout_ms: TIMEOUT_MS, retries: 1, backoff_ms: 5, longest_pause_ms: 20 },
      },
    });
    to.follow(STUDY, null);
    await to.pass({ [STUDY]: Number(Deno.readTextFileSync(join(folder, "end"))) });
    return null;
  },
};

export const CLIENTS: readonly Client[] = [mirror, served, strategist, hub];
