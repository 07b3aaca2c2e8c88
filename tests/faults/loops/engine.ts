/** What stands between a queue and the head of a cluster: each answer in turn dropped, cut, doubled, garbled. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Attempt, EngineError } from "../../../core/jobs/engine.ts";
import { streamRandom } from "../../../core/random.ts";
import { RayEngine } from "../../../tracker/jobs/engines/ray/ray_engine.ts";
import { attemptOf } from "../../tracker/jobs/engine_cases.ts";
import type { Injected, Loop, Walk } from "../loop.ts";
import { sometimes } from "../loop.ts";
import { CHANGES } from "../wire/changed_answers.ts";
import { type Head, head } from "../wire/scripted_head.ts";

const SECRET = "a-token-of-the-loop";
const TIMEOUT_MS = 400;
/** Where nothing is changed: no answer of this process comes later, whoever else has the machine. */
const HEALED_TIMEOUT_MS = 60_000;
/** Of an answer the client may hold at most; the rest must stay where it is. */
const MOST_TAKEN = 64 << 20;

const NAMES = Object.keys(CHANGES);

/** Does it until it is done or refused, as a queue does at its every turn. */
async function insist(work: () => Promise<unknown>, refused: string[]): Promise<boolean> {
  for (let turn = 0; turn < 4; turn++) {
    try {
      await work();
      return true;
    } catch (error) {
      assert.ok(error instanceof EngineError, `not a sentence: ${error}`);
      assert.ok(!/\n/.test(error.message) && error.message.length < 1_000, error.message);
      assert.ok(!error.message.includes(SECRET), "the token stands in a sentence");
      if (error.kind === "refused") {
        refused.push(error.message);
        return false;
      }
      sometimes("engine: a call was repeated");
    }
  }
  return false;
}

interface Jobs {
  readonly kept: Attempt;
  readonly cancelled: Attempt;
}

/** A queue's calls of two jobs, of which one is taken back. */
async function work(
  engine: RayEngine,
  { kept, cancelled }: Jobs,
  refused: string[],
): Promise<boolean> {
  const handles = [kept.folder, cancelled.folder];
  const calls = [
    () => engine.submit(kept),
    () => engine.submit(cancelled),
    () => engine.states(handles),
    () => engine.logs(kept.folder, 0),
    () => engine.cancel(cancelled.folder),
    () => engine.find(kept.id, kept.attempt),
    () => engine.states(handles),
  ];
  for (const call of calls) if (!await insist(call, refused)) return false;
  return true;
}

function engineOf({ url }: Head, timeout_ms = TIMEOUT_MS): RayEngine {
  const options = { token: SECRET, token_from: "RAY_AUTH_TOKEN", timeout_ms };
  return new RayEngine("ray", {
    head: { name: "ray", url, ...options },
    deno: "/deno",
    machine: null,
  });
}

/** What must hold whatever the head was heard to say: no attempt has two jobs, and the next try is whole. */
async function holds(own: Head, jobs: Jobs, name: string): Promise<void> {
  const refused: string[] = [];
  const healed = engineOf(own, HEALED_TIMEOUT_MS);
  assert.ok(await work(healed, jobs, refused), `${name}: the next try failed: ${refused}`);
  const folders = own.begun.map(({ folder }) => folder);
  assert.equal(new Set(folders).size, folders.length, `${name}: one attempt has two jobs`);
  assert.ok(folders.includes(jobs.kept.folder), `${name}: what was submitted is not there`);
  const found = await healed.find(jobs.kept.id, jobs.kept.attempt);
  assert.deepEqual(found, [jobs.kept.folder], name);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined, name);
}

/** Requests of the work where nothing is changed. */
const REQUESTS = 9;

async function point(n: number, seed: number, folder: string): Promise<Injected | undefined> {
  const name = NAMES[n % NAMES.length]!;
  const at = Math.floor(n / NAMES.length) % REQUESTS;
  const forever = n >= NAMES.length * REQUESTS;
  if (n >= 2 * NAMES.length * REQUESTS) return undefined;
  const root = join(folder, `${n}`);
  mkdirSync(root, { recursive: true });
  const jobs = {
    kept: attemptOf({ root }, "exit 0", { id: `kept${n}` }),
    cancelled: attemptOf({ root }, "exit 0", { id: `cancelled${n}` }),
  };
  const random = streamRandom(seed, `engine ${n}`);
  const taken = { bytes: 0 };
  let [seen, hit, call] = [0, 0, "nothing"];
  await using own = head((request, run) => {
    const number = seen++;
    if (number !== at && !(forever && number > at)) return run();
    hit++;
    call = `${request.method} ${new URL(request.url).pathname}`;
    return CHANGES[name]!({ run, random, taken, late_ms: 2 * TIMEOUT_MS });
  });
  const refused: string[] = [];
  const whole = await work(engineOf(own), jobs, refused);
  const told = `answer ${at} to ${call} ${name}${forever ? ", and all after it" : ""}`;
  // On a machine that is too busy it gives up before it comes there.
  assert.ok(hit > 0 || !whole, `${told}: it was never asked`);
  assert.ok(taken.bytes < MOST_TAKEN, `${told}: ${taken.bytes} bytes of it were taken`);
  sometimes(whole ? "engine: all was done in spite of it" : "engine: it was given up");
  own.heal();
  await holds(own, jobs, told);
  rmSync(root, { recursive: true, force: true });
  return { file: "a head's answers", call: told, kind: whole ? "survivable" : "hopeless" };
}

export const engine: Loop = {
  name: "engine",
  about: "answers of a cluster's head: dropped, cut, doubled, late, garbled, without end",
  reaches: [
    "engine: a call was repeated",
    "engine: all was done in spite of it",
    "engine: it was given up",
  ],
  open: (seed, folder): Promise<Walk> =>
    Promise.resolve({
      points: 2 * NAMES.length * REQUESTS,
      at: (n) => point(n, seed, folder),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};
