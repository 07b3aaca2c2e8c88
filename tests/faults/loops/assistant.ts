/** Every request of an assistant's program over standard streams, damaged. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLineSplitter } from "../../../python-backends/child/line_splitter.ts";
import { streamRandom } from "../../../core/random.ts";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../../python-backends/environments/environments.ts";
import { pareWords } from "../../fixtures/programs.ts";
import { SECRET } from "../doors/attacks.ts";
import { answerIn, dueOf, lineAttacks } from "../doors/lines.ts";
import { mutate } from "../doors/mutate.ts";
import { askedOf } from "../doors/requests.ts";
import { besideOf, recordedStore } from "../doors/stores.ts";
import { inTime } from "../walk_loops.ts";
import { type Injected, injecting, type Loop, sometimes, type Walk } from "../loop.ts";

const INPUTS = 10_000;
const MOST_MS = 60_000; // a question in SQL may take 30 s
/** Bytes of a line that is read. */
const MOST_LINE = 4 * 1024 * 1024;
const MOST_BYTES = 1.2e9;
const LONGEST_ANSWER = 200_000;
/** As JSON, where a letter may take six. */
const LONGEST_ERROR = 6 * 2_500;

/** Lines as the protocol has them: node's readline would end one at U+2028, too. */
async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const read: string[] = [];
  const splitter = createLineSplitter({
    onLine: (line) => read.push(line),
    onOverflow: (bytes) => assert.fail(`an answer of ${bytes} bytes`),
  });
  for await (const chunk of stream) {
    splitter.push(chunk);
    yield* read.splice(0);
  }
}

/** The program of an assistant, as far as pare sees it. */
class Served implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #asked = 0;
  /** Ids of all lines so far that may have one answer more: it may come behind a later line's. */
  readonly #maybe = new Set<string>();

  constructor(store: string, home: string, variables: Record<string, string>) {
    const [program, ...words] = pareWords("mcp", "--store", store);
    this.#child = spawn(program!, words, {
      ...{ stdio: ["pipe", "pipe", "ignore"], cwd: home },
      env: { ...Deno.env.toObject(), PARE_HOME: home, ...variables },
    });
    this.#child.stdin!.on("error", () => {}); // its end is told by its other stream
    this.#lines = linesOf(this.#child.stdout!);
  }

  async #line(): Promise<string> {
    const { done, value } = await inTime(this.#lines.next(), MOST_MS);
    assert.ok(!done, "its process ended");
    return value;
  }

  /** Says some lines and a last one, whose answer comes behind every error of the others. */
  async ask(bytes: Uint8Array, hold: (said: string, isError: boolean) => void): Promise<void> {
    const ping = `ping ${this.#asked++}`;
    const due = dueOf(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), MOST_LINE);
    const last = JSON.stringify({ jsonrpc: "2.0", id: ping, method: "ping" });
    for (const key of due.maybe) this.#maybe.add(key);
    this.#child.stdin!.write(bytes);
    this.#child.stdin!.write(`\n${last}\n`);
    const left = new Map([...due.answers, [`string ${ping}`, 1]]);
    let errors = 0;
    while (left.size > 0) {
      const { key, said, isError } = answerIn(await this.#line());
      if (key === null) {
        errors++;
        hold(said, true);
        continue;
      }
      hold(said, isError);
      const more = left.get(key);
      if (more === undefined && this.#maybe.has(key)) continue;
      assert.ok(more !== undefined, `nobody asked ${key.slice(0, 100)}: ${said.slice(0, 300)}`);
      if (more === 1) left.delete(key);
      else left.set(key, more - 1);
    }
    const [least, most] = due.errors;
    assert.ok(errors >= least && errors <= most, `${errors} errors, of ${least} to ${most} due`);
    assert.ok(this.#peak() < MOST_BYTES, `it holds ${(this.#peak() / 1e9).toFixed(1)} GB`);
  }

  #peak(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    return 1024 * Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** Throws where an answer is none that a stranger may be given. */
function checkSaid(said: string, isError: boolean): void {
  const fail = (why: string) => assert.fail(`${why}: ${said.slice(0, 600)}`);
  if (said.includes(SECRET) || said.includes("root:x:0")) fail("a file outside the store was read");
  if (/\\n\s+at .*\.[mt]s:\d+/.test(said)) fail("a stack is shown");
  if (/something is wrong in pare|of undefined|is not a function/.test(said)) fail("it has failed");
  if (said.length > (isError ? LONGEST_ERROR : LONGEST_ANSWER)) {
    fail(`an answer of ${said.length} letters`);
  }
  sometimes(isError ? "assistant: an error was answered" : "assistant: a request was answered");
}

async function open(seed: number, folder: string): Promise<Walk> {
  const secret = join(folder, "secret.csv");
  const home = join(folder, "home");
  mkdirSync(home);
  writeFileSync(secret, `word\n${SECRET}\n`);
  const store = await recordedStore(folder);
  const before = besideOf(folder);
  const attacks = lineAttacks(secret);
  // A home of its own has no environment: a proposal would make one in every walk.
  const { python } = await ensureEnvironment("default");
  const variables = { [overrideVariable("default")]: python };
  let served: Served | null = null;
  const end = async () => {
    await served?.[Symbol.asyncDispose]();
    served = null;
  };
  const damaged = (n: number) => {
    const random = streamRandom(seed, `assistant ${n}`);
    const { body } = askedOf("assistant", { port: 0, token: "" }, secret, n, random, mutate);
    return { name: `request ${n}`, bytes: body! };
  };
  const asked = (n: number) => {
    const attack = attacks[n];
    if (attack === undefined) return damaged(n);
    return { name: attack.name, bytes: new TextEncoder().encode(attack.text()) };
  };
  return {
    points: attacks.length + INPUTS,
    async at(n): Promise<Injected | undefined> {
      if (n >= attacks.length + INPUTS) return undefined;
      const { name, bytes } = asked(n);
      const shown = new TextDecoder().decode(bytes.subarray(0, 300));
      const injected: Injected = { file: name, call: shown, kind: "hopeless" };
      served ??= new Served(store, home, variables);
      const living = served;
      try {
        return await injecting(injected, async () => {
          await living.ask(bytes, checkSaid);
          assert.equal(besideOf(folder), before, "what lies beside the store has changed");
        });
      } catch (error) {
        await end(); // what it says later is of another request
        throw error;
      }
    },
    [Symbol.asyncDispose]: end,
  };
}

export const assistant: Loop = {
  name: "assistant",
  about: "lines of an assistant's program: damaged, enormous, many at once, with paths for names",
  reaches: ["assistant: an error was answered", "assistant: a request was answered"],
  open,
};
