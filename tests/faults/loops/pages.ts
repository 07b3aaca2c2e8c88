/** Every request of a board's server and of `pare mcp --http`, damaged. */
import { mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { streamRandom } from "../../../core/random.ts";
import { serveAssistantHttp } from "../../../tracker/assistant/serve_http.ts";
import { BoardQueue } from "../../../tracker/board/board_queue.ts";
import { boardStores } from "../../../tracker/board/board_stores.ts";
import { testBoard } from "../../fixtures/stores/board.ts";
import { STUDY } from "../../fixtures/stores/records.ts";
import { SECRET } from "../doors/attacks.ts";
import { mutate } from "../doors/mutate.ts";
import { type Asked, askedOf, PROBE } from "../doors/requests.ts";
import { besideOf, recordedStore } from "../doors/stores.ts";
import { type Injected, type Loop, sometimes, type Walk } from "../loop.ts";
import { inTime } from "../walk_loops.ts";

/** 10,000 of each of the two servers. */
const INPUTS = 20_000;
const MOST_MS = 40_000; // a question in SQL may take 30 s

interface Answered {
  readonly status: number;
  readonly type: string;
  readonly policy: string;
  readonly text: string;
}

/** A request as it is written: `fetch` would mend paths and refuse headers. Null: no HTTP answer came. */
function send(port: number, { method, path, headers, body }: Asked): Promise<Answered | null> {
  return new Promise((resolve) => {
    let sent: ReturnType<typeof request>;
    try {
      sent = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
        const parts: Uint8Array[] = [];
        const { "content-type": type = "", "content-security-policy": policy = "" } =
          answer.headers;
        const ended = () => {
          const text = new TextDecoder().decode(Buffer.concat(parts));
          resolve({ status: answer.statusCode ?? 0, type, policy: String(policy), text });
        };
        answer.on("data", (part: Uint8Array) => {
          parts.push(part);
          if (method !== "POST" && type.startsWith("text/event-stream")) {
            sent.destroy(); // without end
            ended();
          }
        });
        answer.on("end", ended);
        answer.on("error", () => resolve(null));
      });
    } catch {
      return resolve(null); // a header or a path that no client sends
    }
    sent.on("error", () => resolve(null));
    sent.end(body);
  });
}

/** Throws where an answer is none that a stranger's request may have. */
function checkAnswer(asked: Asked, answer: Answered | null): void {
  if (answer === null) return sometimes("pages: a request that is no HTTP was not answered");
  const { status, type, policy, text } = answer;
  const fail = (why: string): never => {
    const body = new TextDecoder().decode(asked.body?.slice(0, 300));
    const shown = `${asked.method} ${asked.path.slice(0, 300)} ${body}`;
    throw new Error(`${why}: ${shown}: ${status} ${text.slice(0, 600)}`);
  };
  if (status >= 500) fail("something is wrong in pare");
  if (text.includes(SECRET) || text.includes("root:x:0")) fail("a file outside the store was read");
  if (/\n\s+at .*\.ts:\d+/.test(text)) fail("a stack is shown");
  if (type.startsWith("text/html") && text.includes(PROBE)) {
    fail("markup of the request stands in the page");
  }
  if (type.startsWith("text/html") && !/script-src 'self'/.test(policy)) {
    fail("a page without its policy");
  }
  if (asked.stranger && ![400, 401, 403].includes(status)) fail("a stranger was answered");
  if (asked.stranger && text.includes(STUDY)) fail("a stranger was told of a study");
  if (status === 200) sometimes("pages: a damaged request was answered");
  if (status === 400) sometimes("pages: a damaged request was refused");
  if (asked.stranger) sometimes("pages: a stranger was refused");
}

/** A board and an assistant's server over one store. */
async function serversOf(folder: string) {
  const store = await recordedStore(folder);
  const board = testBoard([store], { script: "Deno.exit(0)" });
  const stores = boardStores([store]);
  const queue = new BoardQueue([store], {
    engines: () => Promise.resolve([]),
    programOf: () => [],
  });
  const world = { stores, queue, allow_submit: false, drives: () => null };
  const assistant = serveAssistantHttp(world, {});
  return {
    board: { port: board.board.port, token: board.board.token },
    assistant: { port: Number(new URL(assistant.url).port), token: assistant.token },
    async close() {
      await assistant.close();
      await queue.close();
      await stores[Symbol.asyncDispose]();
      await board[Symbol.asyncDispose]();
    },
  };
}

async function open(seed: number, folder: string): Promise<Walk> {
  writeFileSync(join(folder, "secret.csv"), `word\n${SECRET}\n`);
  mkdirSync(join(folder, "beside"));
  const servers = await serversOf(folder);
  const before = besideOf(folder);
  return {
    points: INPUTS,
    async at(n): Promise<Injected | undefined> {
      if (n >= INPUTS) return undefined;
      const random = streamRandom(seed, `pages ${n}`);
      const which = n % 2 === 0 ? "board" : "assistant";
      const asked = askedOf(which, servers[which], join(folder, "secret.csv"), n, random, mutate);
      checkAnswer(asked, await inTime(send(servers[which].port, asked), MOST_MS));
      const now = besideOf(folder);
      if (now !== before) {
        throw new Error(`${asked.method} ${asked.path}: beside the store lies ${now}`);
      }
      return { file: which, call: `${asked.method} ${asked.path.slice(0, 120)}`, kind: "hopeless" };
    },
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

export const pages: Loop = {
  name: "pages",
  about: "requests of the board and of assistants, damaged and from strangers",
  reaches: [
    "pages: a damaged request was answered",
    "pages: a damaged request was refused",
    "pages: a stranger was refused",
  ],
  open,
};
