/**
 * One turn of a queue: observe, decide, do, tell what came of it. A turn that ends anywhere leaves a
 * queue that the next turn, of this process or another one, goes on with.
 */
import { UsageError } from "../errors.ts";
import { decide } from "./decide.ts";
import {
  type Capacity,
  type Engine,
  EngineError,
  type EngineState,
  type Handle,
} from "./engine.ts";
import type { JobEvent } from "./events.ts";
import { type Instruction, instructions } from "./instructions.ts";
import { momentText } from "./moments.ts";
import type { AttemptFiles, AttemptKey, JobDisk } from "./ports.ts";
import { attemptOf, type Job, type Queue } from "./queue_state.ts";
import type { Observed, SeenAttempt } from "./settle.ts";

/** Decisions that follow from each other in one turn; more would be a circle. */
const MOST_DECISIONS = 20;

export interface QueuePorts {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly disk: JobDisk;
  readonly files: AttemptFiles;
  /** Their names differ. */
  readonly engines: readonly Engine[];
}

interface Decided {
  readonly queue: Queue;
  readonly seen: Observed;
}

export interface Turn extends Decided {
  /** Something was appended or done: the next turn is worth while at once. */
  readonly changed: boolean;
  /** What engines did not do, though they are up, a sentence each: it is asked for again. */
  readonly undone: readonly string[];
}

/** A job's name on its engine: other queues may share it. */
function engineId(queue: Queue, { job_id }: Job): string {
  return `pare-${queue.queue_id}-${job_id.toLowerCase()}`;
}

function down(error: unknown): string {
  if (error instanceof EngineError) return error.message;
  throw error;
}

interface Answer {
  /** A sentence: why the engine did not answer. */
  readonly capacity: Capacity | string;
  readonly states: ReadonlyMap<Handle, EngineState>;
}

async function ask(engine: Engine, handles: readonly Handle[]): Promise<Answer> {
  try {
    const capacity = await engine.capacity();
    return { capacity, states: handles.length === 0 ? NONE : await engine.states(handles) };
  } catch (error) {
    return { capacity: down(error), states: NONE };
  }
}

const NONE: ReadonlyMap<Handle, EngineState> = new Map();

/** Engines first: what they say has ended has written its result by then. */
async function observe({ engines, files }: QueuePorts, queue: Queue): Promise<Observed> {
  const keys: AttemptKey[] = [];
  const handles = new Map<string, Handle[]>(engines.map(({ name }) => [name, []]));
  for (const job of queue.under_way.values()) {
    const { number, engine, handle } = attemptOf(job)!;
    keys.push({ job_id: job.job_id, attempt: number });
    if (handle !== null) handles.get(engine)?.push(handle);
  }
  const told = await Promise.all(engines.map((engine) => ask(engine, handles.get(engine.name)!)));
  const answers = new Map(engines.map(({ name }, n) => [name, told[n]!]));
  const looked = keys.length === 0 ? [] : await files.look(keys);
  const attempts = new Map<string, SeenAttempt>();
  for (const [n, { job_id, attempt }] of keys.entries()) {
    const { engine, handle } = queue.jobs.get(job_id)!.attempts[attempt - 1]!;
    const state = handle === null ? undefined : answers.get(engine)?.states.get(handle);
    attempts.set(job_id, { attempt, files: looked[n]!, engine: state ?? null });
  }
  return {
    engines: new Map([...answers].map(([name, { capacity }]) => [name, capacity])),
    attempts,
  };
}

/** What an engine holds of an attempt whose submission got no answer, or a refusal; null: nothing. */
async function heldByEngine(
  engine: Engine,
  id: string,
  { attempt: { number } }: Instruction,
): Promise<Handle | null> {
  return (await engine.find(id, number)).at(-1) ?? null;
}

/** One job that cannot be made ready does not stop the others. */
function lacking(error: unknown): string {
  if (error instanceof UsageError) return error.message;
  throw error;
}

/** Gives an attempt to its engine. Of one that was planned earlier an answer may have been lost: what
 * the engine has of it is found first. */
async function submit(
  ports: QueuePorts,
  engine: Engine,
  { queue, seen }: Decided,
  instruction: Instruction,
): Promise<JobEvent[]> {
  const { job, attempt } = instruction;
  const at = () => momentText(ports.clock());
  const key = { job_id: job.job_id, attempt: attempt.number };
  const id = engineId(queue, job);
  const asked = await ports.files.prepare(job, attempt.number, id).catch(lacking);
  const ending = { ...key, code: null, seconds: 0, left_behind: false, not_before: null };
  if (typeof asked === "string") {
    if (!await ports.files.close(key)) return [];
    return [
      { type: "missing", at: at(), job_id: job.job_id, reason: asked },
      {
        type: "attempt_ended",
        at: at(),
        ...ending,
        how: "withdrawn",
        reason: asked,
        next: "again",
      },
    ];
  }
  try {
    const { slots } = attempt;
    const earlier = seen.attempts.get(job.job_id)?.attempt === attempt.number;
    const found = earlier ? await heldByEngine(engine, id, instruction) : null;
    const handle = found ?? await engine.submit({ ...asked, slots, seconds: null });
    return [{ type: "attempt_submitted", at: at(), ...key, handle }];
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind === "down") throw error;
    const handle = await heldByEngine(engine, id, instruction);
    if (handle !== null) return [{ type: "attempt_submitted", at: at(), ...key, handle }];
    if (!await ports.files.close(key)) return [];
    const { message: reason } = error;
    return [{ type: "attempt_ended", at: at(), ...ending, how: "refused", reason, next: "failed" }];
  }
}

/** The events of what was done, or the sentence why it was not. */
async function carryOut(
  ports: QueuePorts,
  decided: Decided,
  instruction: Instruction,
): Promise<JobEvent[] | string> {
  const { call, job, attempt } = instruction;
  const key = { job_id: job.job_id, attempt: attempt.number };
  if (call === "close") {
    await ports.files.close(key);
    return [];
  }
  const engine = ports.engines.find(({ name }) => name === attempt.engine);
  if (engine === undefined) return [];
  const told = (): JobEvent[] => {
    const at = momentText(ports.clock());
    return call === "submit" ? [] : [{ type: "engine_told", at, ...key, what: call }];
  };
  try {
    if (call === "submit") return await submit(ports, engine, decided, instruction);
    const id = engineId(decided.queue, job);
    const handle = attempt.handle ?? await heldByEngine(engine, id, instruction);
    if (handle !== null) await engine[call](handle);
    return told();
  } catch (error) {
    const reason = down(error);
    // What it will never do it was told all the same: it may not know the attempt any more.
    if ((error as EngineError).kind === "refused") return told();
    return `Cannot ${call} ${job.job_id} on ${engine.name}: ${reason}`;
  }
}

/** Takes a queue one turn on. */
export async function turn(ports: QueuePorts): Promise<Turn> {
  const { clock, disk } = ports;
  const seen = await observe(ports, await disk.transact(() => []));
  const undone: string[] = [];
  let changed = false;
  let queue: Queue;
  let told: number | null = null;
  for (let n = 0, more = true; more && n < MOST_DECISIONS; n++) {
    queue = await disk.transact((queue) => {
      // What another process told meanwhile is newer than what was seen: both would tell theirs for ever.
      const older = told !== null && queue.events !== told;
      const events = decide(queue, older ? null : seen, clock());
      more = events.length > 0;
      changed ||= more || older;
      return events;
    });
    told = queue.events;
  }
  for (const instruction of instructions(queue!, seen, clock())) {
    const done = await carryOut(ports, { queue: queue!, seen }, instruction);
    if (typeof done === "string") undone.push(done);
    else if (done.length > 0) queue = await disk.transact(() => done);
    changed ||= typeof done !== "string";
  }
  return { queue: queue!, seen, changed, undone };
}
