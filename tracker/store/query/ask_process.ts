import { UsageError } from "../../../core/errors.ts";
import type { Child } from "../../../python-backends/child/start_child.ts";
import { frame, frames } from "./frames.ts";
import { ANSWER_BYTES, QUERY_MEMORY_BYTES } from "./bounds.ts";
import { type QueryReply, type QueryRequest, ReplySchema } from "./messages.ts";
import { endQueryProcess, startQueryProcess } from "./query_process.ts";

/** How long an idle process stays for the next query. */
const IDLE_MS = 60_000;

/** How long a request may take, and what is said where it takes longer. */
export interface Deadline {
  ms: number;
  sentence: string;
}

/** What each process replies. */
const replies = new WeakMap<Child, AsyncGenerator<unknown>>();
let idle: ReturnType<typeof setTimeout> | undefined;
/** The last request, which the next one waits for. */
let last: Promise<unknown> = Promise.resolve();

function repliesOf(process: Child): AsyncGenerator<unknown> {
  const known = replies.get(process) ?? frames(process.output!, ANSWER_BYTES); // a pipe
  replies.set(process, known);
  return known;
}

/** The process is gone, and with it what it had open. */
class ProcessEnded extends UsageError {}

/** Why a process ended before it answered, from its end and its last words. */
async function endingOf(process: Child): Promise<ProcessEnded> {
  const { signal, code, not_started } = await process.exited;
  const words = process.last_words;
  if (/out of memory|memory allocation|bad_alloc|Cannot allocate/i.test(words)) {
    const most = QUERY_MEMORY_BYTES / 1e9;
    return new ProcessEnded(
      `Cannot finish the query as its process needs more than the ${most} GB that it may take; narrow it`,
    );
  }
  const line = words.trim().split("\n")[0] ?? "";
  const how = not_started ?? `${signal ?? `exit code ${code}`}${line === "" ? "" : `: ${line}`}`;
  return new ProcessEnded(
    `Cannot finish the query as its process ended (${how}); \`pare store check\` says whether the index is damaged`,
  );
}

async function answerOf(process: Child, request: QueryRequest): Promise<QueryReply> {
  try {
    process.input.write(frame(request));
    const { value, done } = await repliesOf(process).next();
    if (!done) return ReplySchema.parse(value);
  } catch {
    // It has ended, or says what is no reply: either way it is ended, and why is told below.
  }
  process.kill();
  throw await endingOf(process);
}

async function ask(request: QueryRequest, { ms, sentence }: Deadline): Promise<unknown> {
  clearTimeout(idle);
  const process = startQueryProcess();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    process.kill();
  }, ms);
  try {
    const reply = await answerOf(process, request);
    idle = setTimeout(() => endQueryProcess(process), IDLE_MS);
    Deno.unrefTimer(idle);
    if (reply.ok) return reply.value;
    throw new (reply.usage ? UsageError : Error)(reply.message);
  } catch (error) {
    if (error instanceof ProcessEnded) endQueryProcess(process);
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
