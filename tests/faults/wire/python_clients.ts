/** Clients of HTTP that are Python's: who evaluates a served model, and who asks a judge. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { type Client, completion, SECRET, sound, TIMEOUT_MS } from "./clients.ts";

const BACKENDS = fileURLToPath(new URL("../../../python-backends", import.meta.url));
const SCRIPT = fileURLToPath(new URL("./python_asker.py", import.meta.url));

/** One process for all points: its libraries take longer to load than a point takes. */
class Asker {
  #child: ChildProcess | undefined;
  #lines: AsyncIterator<string> | undefined;

  async ask(asked: Record<string, unknown>): Promise<unknown> {
    if (this.#child === undefined) {
      const { python } = await ensureEnvironment("default");
      const env = { ...Deno.env.toObject(), PYTHONPATH: BACKENDS, PARE_TEST_KEY: SECRET };
      this.#child = spawn(python, [SCRIPT], {
        cwd: BACKENDS,
        env,
        stdio: ["pipe", "pipe", "inherit"],
      });
      this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    }
    this.#child.stdin!.write(`${JSON.stringify(asked)}\n`);
    const { value, done } = await this.#lines!.next();
    if (done) throw new Error("the process that asks ended");
    const answer: { result?: unknown; said?: string; fault?: string } = JSON.parse(value);
    if (answer.fault !== undefined) throw new Error(`is not a sentence\n${answer.fault}`);
    if (answer.said !== undefined) throw new Error(answer.said);
    return answer.result;
  }

  end(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
  }
}

const asker = new Asker();

const LIKELY = {
  tokens: ["two", " and", " two", "!"],
  token_logprobs: [null, -1.5, -0.5, -0.25],
  top_logprobs: [null, { " and": -1.5 }, { " two": -0.5 }, { "!": -0.25 }],
  text_offset: [0, 3, 7, 11],
};

/** A server of completions and chats. */
const server = () =>
  sound(async (request) => {
    if (request.method === "GET") return Response.json({ data: [{ id: "m" }] });
    if (request.url.endsWith("/chat/completions")) return completion("yes");
    const { echo = false } = await request.json();
    const choice = echo ? { text: "two and two!", logprobs: LIKELY } : { text: " four" };
    return Response.json({ choices: [{ ...choice, finish_reason: "stop" }] });
  });

const clientOf = (name: string, as: string): Client => ({
  name,
  serve: server,
  work: (url) => asker.ask({ as, url: `${url}/v1`, seconds: TIMEOUT_MS / 1000 }),
  end: () => asker.end(),
});

export const PYTHON_CLIENTS: readonly Client[] = [
  clientOf("an evaluated served model", "evaluated"),
  clientOf("a judge", "judged"),
];
