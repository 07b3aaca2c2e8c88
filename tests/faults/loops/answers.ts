/** Answers of served models, of a model that proposes, of an MLflow server and of the hub, changed. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { streamRandom } from "../../../core/random.ts";
import { type Injected, injecting, type Loop, sometimes, type Walk } from "../loop.ts";
import { shuffledPlaces } from "../shuffled_places.ts";
import { CHANGES, PLAIN, proxyTo } from "../wire/changed_answers.ts";
import { type Client, CLIENTS, LATE_MS, SECRET } from "../wire/clients.ts";
import { PYTHON_CLIENTS } from "../wire/python_clients.ts";

/** Of an answer: the mirror reads 64 MiB, and what lies between it and the server holds some. */
const MOST_TAKEN = 128 << 20;

/** A client, and what its work comes to where nothing is changed. */
interface Sound {
  readonly client: Client;
  readonly prepared: string;
  readonly requests: number;
  readonly result: unknown;
  readonly held: unknown;
}

async function soundOf(client: Client, root: string, n: number): Promise<Sound> {
  const prepared = join(root, `client-${n}`);
  mkdirSync(prepared);
  await client.prepare?.(prepared);
  const folder = await placed(prepared, root);
  await using server = client.serve();
  await using proxy = proxyTo(server.url, (_, run) => run());
  const result = await client.work(proxy.url, folder);
  return { client, prepared, requests: proxy.seen(), result, held: server.held() };
}

/** A fresh copy where each point has its own: places of files stand in what a server is told. */
async function placed(prepared: string, root: string): Promise<string> {
  const folder = join(root, "work");
  await rm(folder, { recursive: true, force: true });
  cpSync(prepared, folder, { recursive: true });
  return folder;
}

interface Point {
  readonly sound: Sound;
  readonly change: string;
  /** The request whose answer is changed. */
  readonly at: number;
  readonly forever: boolean;
}

function pointsOf(sounds: readonly Sound[], seed: number): Point[] {
  const all = sounds.flatMap((sound) =>
    Array.from({ length: sound.requests }, (_, at) => at).flatMap((at) =>
      Object.keys(CHANGES).flatMap((change) =>
        [false, true].map((forever) => ({ sound, change, at, forever }))
      )
    )
  );
  return shuffledPlaces(all.length, seed).map((place) => all[place]!);
}

/** Throws where an error is none that a person could be shown. */
function checkSentence(error: unknown): void {
  assert.ok(error instanceof Error, `not an error: ${error}`);
  const { message } = error;
  const own = /Cannot (read|set) properties|is not (a function|iterable|defined)/.test(message);
  assert.ok(!own, `no sentence: ${error.stack}`);
  assert.ok(!message.includes("\n") && message.length < 1_000, `no sentence: ${message}`);
  assert.ok(!message.includes(SECRET), `the key stands in it: ${message}`);
}

/** The work against a server whose answers are changed, and again once it is sound. */
async function holds({ sound, change, at, forever }: Point, random: () => number, root: string) {
  const { client, result, held } = sound;
  const folder = await placed(sound.prepared, root);
  await using server = client.serve();
  const taken = { bytes: 0 };
  let [number, hit, healed] = [0, 0, false];
  await using proxy = proxyTo(server.url, (_, run) => {
    const own = number++;
    if (healed || own !== at && !(forever && own > at)) return run();
    hit++;
    return CHANGES[change]!({ run, random, taken, late_ms: LATE_MS });
  });
  const plain = PLAIN.includes(change);
  let whole = true;
  try {
    const found = await client.work(proxy.url, folder);
    if (plain) assert.deepEqual(found, result, "it came to another result");
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    checkSentence(error);
    whole = false;
  }
  // On a machine that is too busy a client gives up before it comes there.
  assert.ok(hit > 0 || !whole, "nothing was changed");
  assert.ok(taken.bytes < MOST_TAKEN, `${taken.bytes} bytes without end were taken`);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  sometimes(whole ? "answers: all was done in spite of it" : "answers: it was given up");
  healed = true;
  assert.deepEqual(await client.work(proxy.url, folder), result, "the next try is not whole");
  // A server that was made to do something twice holds it twice, if it is a new thing each time.
  if (plain && change !== "is done twice") assert.deepEqual(server.held(), held);
}

/** The loop over some clients: of these alone a few points are quick. */
export const answersTo = (clients: readonly Client[]): Loop => ({
  name: "answers",
  about:
    "HTTP answers to mirror, searches, the hub's reader, evaluations and judges of served models",
  reaches: ["answers: all was done in spite of it", "answers: it was given up"],
  async open(seed, root): Promise<Walk> {
    const sounds: Sound[] = [];
    for (const [n, client] of clients.entries()) sounds.push(await soundOf(client, root, n));
    const points = pointsOf(sounds, seed);
    return {
      points: points.length,
      async at(n): Promise<Injected | undefined> {
        const point = points[n];
        if (point === undefined) return undefined;
        const { sound, change, at, forever } = point;
        const call = `answer ${at} ${change}${forever ? ", and all after it" : ""}`;
        const injected = { file: sound.client.name, call, kind: "survivable" as const };
        const random = streamRandom(seed, `answers ${n}`);
        return await injecting(injected, () => holds(point, random, root));
      },
      [Symbol.asyncDispose]() {
        for (const { end } of clients) end?.();
        return Promise.resolve();
      },
    };
  },
});

export const answers = answersTo([...CLIENTS, ...PYTHON_CLIENTS]);
