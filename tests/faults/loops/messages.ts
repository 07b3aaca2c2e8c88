/** Lines on a worker's pipe: dropped, cut, doubled, swapped, garbled, enormous, of another call. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { streamRandom } from "../../../core/random.ts";
import { exchange } from "../../../python-backends/worker/exchange.ts";
import { workerOver } from "../../../python-backends/worker/worker_process.ts";
import { mutate } from "../doors/mutate.ts";
import { type Injected, type Loop, sometimes, type Walk } from "../loop.ts";

const KNOBS = { methods: [{ agent: "quantization", method: "rtn", knobs: { bits: "int" } }] };

/** What a sound worker says of the call `describe`. */
const EVENTS: readonly Record<string, unknown>[] = [
  { event: "ready", pid: 7, imports_seconds: 0.5 },
  { event: "started", request_id: "r", call: "describe" },
  { event: "progress", label: "read", done: 1, total: 2, unit: "files" },
  { event: "waiting", seconds: 0.5, why: "a lock" },
  { event: "span", name: "inspect", seconds: 0.25, library: false },
  { event: "points", points: [{ step: 1, happened_at: 5, values: { loss: 0.5, bad: "NaN" } }] },
  { event: "alert", condition: "few", evidence: "3 of 4" },
  { event: "result", call: "describe", result: KNOBS },
];

const LINES = EVENTS.map((event) => `${JSON.stringify(event)}\n`);
const RESULT = LINES.length - 1;
const bytesOf = (text: string) => new TextEncoder().encode(text);

type Random = () => number;
/** The stream with one line changed. `same`: whether an outcome that is right must be the whole result. */
interface Change {
  readonly name: string;
  readonly same: boolean;
  make(at: number, random: Random): Uint8Array;
}

/** All lines, that at `at` in other words. */
function withLine(at: number, line: Uint8Array | string): Uint8Array {
  const parts = LINES.map((one, i) =>
    i !== at ? bytesOf(one) : typeof line === "string" ? bytesOf(line) : line
  );
  return Buffer.concat(parts);
}

/** Longer than a line may be. */
const ENORMOUS = new Uint8Array(33 * 1024 * 1024).fill(120);
ENORMOUS[ENORMOUS.length - 1] = 10;

const CHANGES: readonly Change[] = [
  { name: "is dropped", same: true, make: (at) => withLine(at, "") },
  { name: "comes twice", same: true, make: (at) => withLine(at, LINES[at]! + LINES[at]!) },
  {
    name: "comes after the next",
    same: true,
    make: (at) => bytesOf(LINES.toSpliced(at, 2, LINES[at + 1] ?? "", LINES[at]!).join("")),
  },
  {
    name: "is cut, and all that follows",
    same: true,
    make(at, random) {
      const before = bytesOf(LINES.slice(0, at).join(""));
      const line = bytesOf(LINES[at]!);
      return new Uint8Array([
        ...before,
        ...line.slice(0, Math.floor(random() * (line.length - 1))),
      ]);
    },
  },
  {
    name: "is cut, and the next follows at once",
    same: true,
    make: (at, random) =>
      withLine(at, LINES[at]!.slice(0, Math.floor(random() * (LINES[at]!.length - 1)))),
  },
  {
    name: "is garbled",
    same: false,
    make: (at, random) => withLine(at, mutate(bytesOf(LINES[at]!), true, random)),
  },
  {
    name: "has a null byte before it",
    same: true,
    make: (at) => withLine(at, `\u0000${LINES[at]}`),
  },
  { name: "is no UTF-8", same: true, make: (at) => withLine(at, new Uint8Array([0xc0, 0x80, 10])) },
  {
    name: "has numbers without end",
    same: true,
    make: (at) => withLine(at, LINES[at]!.replace(/\d+(\.\d+)?/, "1e999")),
  },
  {
    name: "has a prototype",
    same: true,
    make: (at) => withLine(at, LINES[at]!.replace("{", '{"__proto__":{"polluted":true},')),
  },
  {
    name: "is of another call",
    same: true,
    make: (at) => withLine(at, LINES[at]!.replaceAll("describe", "evaluate")),
  },
  {
    name: "is of another request",
    same: true,
    make: (at) => withLine(at, LINES[at]!.replace('"r"', '"s"')),
  },
  {
    name: "follows print of a library",
    same: true,
    make: (at) => withLine(at, `loading 3 %\r${LINES[at]}`),
  },
  { name: "comes in pieces", same: true, make: () => bytesOf(LINES.join("")) },
];
/** A line of this kind takes a tenth of a second, so it comes once in a while. */
const ENORMOUS_EACH = 400;

/** A worker that says these bytes in pieces, and ends. */
function saying(bytes: Uint8Array, folder: string, random: Random) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const exited = new Promise<{ code: number; signal: null }>((resolve) => {
    output.on("end", () => resolve({ code: 0, signal: null }));
  });
  input.resume();
  const worker = workerOver({
    ...{ pid: 0, folder: join(folder, "none"), log_path: join(folder, "worker.log") },
    ...{ exited, input, output },
  });
  queueMicrotask(() => {
    const drawn = 1 + Math.floor(random() * 200);
    const most = bytes.length > 1e6 ? bytes.length : Math.max(drawn, bytes.length >> 10);
    for (let at = 0; at < bytes.length; at += most) output.write(bytes.subarray(at, at + most));
    output.end();
  });
  return worker;
}

/** Lines without which the outcome is the same: what is told meanwhile. */
const toldMeanwhile = (at: number) => at !== RESULT;

async function point(n: number, seed: number, folder: string): Promise<Injected> {
  const random = streamRandom(seed, `messages ${n}`);
  const enormous = n % ENORMOUS_EACH === 50;
  const change = CHANGES[n % CHANGES.length]!;
  const at = Math.floor(n / CHANGES.length) % LINES.length;
  const bytes = enormous ? withLine(at, ENORMOUS) : change.make(at, random);
  const name = `${String(EVENTS[at]!["event"])} ${enormous ? "is enormous" : change.name}`;
  const outcome = await exchange(saying(bytes, folder, random), { call: "describe" }, {
    ...{ request_id: "r", threads: 1 },
  });
  assert.equal(({} as { polluted?: unknown }).polluted, undefined, name);
  const harmless = !enormous && (change.name === "comes in pieces" ||
    (change.name === "is dropped" || change.name === "comes twice") && toldMeanwhile(at) ||
    change.name === "comes twice");
  if (outcome.ok) {
    sometimes("messages: a changed line left the result whole");
    if (enormous || change.same) assert.deepEqual(outcome.value, KNOBS, name);
    const other = at === RESULT && change.name === "is of another call" ||
      at === 1 && /another/.test(change.name);
    assert.ok(!other, `${name}, and it was taken`);
  } else {
    sometimes("messages: a changed line ended the call");
    const { kind, message } = outcome.failure;
    // It is given up before it is held whole, and so before it is read.
    if (enormous) assert.match(message, /the worker wrote a line of \d+ bytes$/, name);
    assert.ok(!harmless, `${name}: ${message}`);
    assert.ok(["crash", ...(change.same ? [] : FAILURES)].includes(kind), `${name}: ${kind}`);
    assert.ok(!/\n/.test(message) && message.length < 1_000 || !change.same, `${name}: ${message}`);
  }
  return { file: "worker's pipe", call: name, kind: harmless ? "survivable" : "hopeless" };
}

/** Kinds that a garbled line may come to say. */
const FAILURES = ["bad_input", "out_of_memory", "stall", "cancelled"];

const POINTS = 20_000;

export const messages: Loop = {
  name: "messages",
  about: "lines of a worker: dropped, cut, doubled, garbled, enormous, of another call",
  reaches: [
    "messages: a changed line left the result whole",
    "messages: a changed line ended the call",
  ],
  open: (seed, folder): Promise<Walk> =>
    Promise.resolve({
      points: POINTS,
      at: (n) => n >= POINTS ? Promise.resolve(undefined) : point(n, seed, folder),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};
