import { fileURLToPath } from "node:url";
import { UsageError } from "../../../core/errors.ts";
import { frame, frames } from "./frames.ts";
import { ANSWER_BYTES, QUERY_MEMORY_BYTES } from "./bounds.ts";
import { type QueryReply, type QueryRequest, ReplySchema } from "./messages.ts";

const PROGRAM = fileURLToPath(new URL("./process.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../../deno.json", import.meta.url));
/**
 * DuckDB's allocator keeps the addresses of what it freed, and the kernel counts them: a query that
 * went on to disk was at 4.7 GB then, at 2.6 GB without (2.1 GB resident in both).
 */
const GIVES_BACK = { DUCKDB_JE_MALLOC_CONF: "retain:false" };
/** How long an idle process stays for the next query. */
const IDLE_MS = 60_000;
/** Of what an ended process said on standard error. */
const SAID_CHARS = 4_000;

/** How long a request may take, and what is said where it takes longer. */
export interface Deadline {
  ms: number;
  sentence: string;
}

interface Child {
  process: Deno.ChildProcess;
  input: WritableStreamDefaultWriter<Uint8Array>;
  replies: AsyncGenerator<unknown>;
  said: Promise<string>;
}

let child: Child | null = null;
let idle: ReturnType<typeof setTimeout> | undefined;
/** The last request, which the next one waits for. */
let last: Promise<unknown> = Promise.resolve();

async function textOf(pipe: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of pipe) {
    text = (text + decoder.decode(part, { stream: true })).slice(-SAID_CHARS);
  }
  return text;
}

function start(): Child {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", "--config", CONFIG, PROGRAM],
    env: GIVES_BACK,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  process.unref();
  return {
    process,
    input: process.stdin.getWriter(),
    replies: frames(process.stdout, ANSWER_BYTES),
    said: textOf(process.stderr),
  };
}

/** The process is gone, and with it what it had open. */
class ProcessEnded extends UsageError {}

/** Why a process ended before it answered, from its end and its last words. */
async function endingOf({ process, said }: Child): Promise<ProcessEnded> {
  const { signal, code } = await process.status;
  const words = await said;
  if (/out of memory|memory allocation|bad_alloc|Cannot allocate/i.test(words)) {
    const most = QUERY_MEMORY_BYTES / 1e9;
    return new ProcessEnded(
      `Cannot finish the query as its process needs more than the ${most} GB that it may take; narrow it`,
    );
  }
  const line = words.trim().split("\n")[0] ?? "";
  const how = `${signal ?? `exit code ${code}`}${line === "" ? "" : `: ${line}`}`;
  return new ProcessEnded(
    `Cannot finish the query as its process ended (${how}); \`pare store check\` says whether the index is damaged`,
  );
}

function kill(one: Child): void {
  try {
    one.process.kill("SIGKILL");
  } catch {
    // it has ended already
  }
}

async function answerOf(one: Child, request: QueryRequest): Promise<QueryReply> {
  try {
    await one.input.write(frame(request));
    const { value, done } = await one.replies.next();
    if (!done) return ReplySchema.parse(value);
  } catch {
    // It has ended, or says what is no reply: either way it is ended, and why is told below.
  }
  kill(one);
  throw await endingOf(one);
}

/** Starts the process where there is none: it takes a moment until it can be asked. */
export function startQueryProcess(): void {
  child ??= start();
}

/** The number of the process that runs; null: none does. */
export function queryProcess(): number | null {
  return child?.process.pid ?? null;
}

async function ask(request: QueryRequest, { ms, sentence }: Deadline): Promise<unknown> {
  clearTimeout(idle);
  const one = child ??= start();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    kill(one);
  }, ms);
  try {
    const reply = await answerOf(one, request);
    idle = setTimeout(endQueryProcess, IDLE_MS);
    Deno.unrefTimer(idle);
    if (reply.ok) return reply.value;
    throw new (reply.usage ? UsageError : Error)(reply.message);
  } catch (error) {
    if (error instanceof ProcessEnded && child === one) child = null;
    throw late ? new UsageError(sentence) : error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks the process of this thread, starting one where there is none, and ends it at the deadline.
 * It does one thing at a time.
 *
 * @throws UsageError, and what the process failed by.
 */
export function askQueryProcess(request: QueryRequest, deadline: Deadline): Promise<unknown> {
  const answer = last.then(() => ask(request, deadline));
  last = answer.catch(() => {});
  return answer;
}

/** Ends the process, which holds no database then. */
export function endQueryProcess(): void {
  clearTimeout(idle);
  if (child !== null) kill(child);
  child = null;
}
