import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type Artifact,
  type CallRequest,
  type Facts,
  type Registry,
  unbeaten,
} from "../../../core/mod.ts";
import llamaCpp from "../../../plugins/runtimes/llama.cpp.ts";
import openvino from "../../../plugins/runtimes/openvino.ts";
import transformers from "../../../plugins/runtimes/transformers.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { originalSpeeds, timingsDecide } from "../../../tracker/lab/runner/original_speeds.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import type { Tools } from "../../../tracker/lab/runner/workshop.ts";
import { smallFacts } from "../../core/spec_facts.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const PRECISE: Readonly<Record<string, number>> = { f32: 20, f16: 8, bf16: 15 };

/** What a machine answers: a precision's time, or why there is none; `busy`: other work took part. */
interface Machine {
  readonly bf16?: boolean;
  readonly broken?: string;
  readonly busy?: boolean;
  /** What is answered in turn for a precision, before its usual time. */
  readonly first?: Readonly<Record<string, number[]>>;
  /** Its standard errors in turn, before 0.1. */
  readonly errors?: Readonly<Record<string, number[]>>;
  readonly kept_only?: boolean;
}

async function timed(
  root: string,
  { bf16 = false, broken, busy = false, first = {}, errors = {}, kept_only = false }: Machine = {},
  runtime?: string,
) {
  const calls: CallRequest[] = [];
  const runner = ((_trial: string, request: CallRequest) => {
    calls.push(request);
    if (request.call === "make_form") {
      return Promise.resolve({ ok: true, value: { size_bytes: 1, notes: [] }, spans: [] });
    }
    assert(request.call === "speed");
    const { precision } = request;
    if (precision === broken) {
      const failure = { kind: "crash", message: "it broke", hint: null, phase: null };
      return Promise.resolve({ ok: false, failure, spans: [] });
    }
    const numerics = { inference_precision: precision, kv_precision: "f32", activation_group: 0 };
    const ms = first[`${request.runtime} ${precision}`]?.shift() ?? PRECISE[precision!];
    const off = errors[`${request.runtime} ${precision}`]?.shift() ?? 0.1;
    const row = { metric: "latency_ms", value: ms, standard_error: off, n: 5 };
    const value = {
      measurements: [busy ? { ...row, busy_cores: 1 } : row],
      ...{ numerics, threads: 2, bytes_read_per_token: 100 },
    };
    return Promise.resolve({ ok: true, value, spans: [] });
  }) as unknown as CallRunner; // of the two calls that are made
  const tools = {
    registry: {
      runtimes: [transformers, openvino, llamaCpp],
      environments: new Map(),
    } as unknown as Registry,
    home: { root },
    caches: openFolderCache(join(root, "cache")),
    environmentHash: () => Promise.resolve("pins"),
    timestamp: () => "2026-01-01T00:00:00Z",
  } as unknown as Tools; // the rest is not asked for
  const small = smallFacts();
  const facts: Facts = { ...small, device: { ...small.device, bf16 } };
  const baseline = { artifact_id: "base", location: root } as Artifact; // all that is asked for
  await Deno.writeTextFile(join(root, "config.json"), "{}");
  const request = { seed: 1, ...(runtime === undefined ? {} : { runtime }) };
  const original = { tools, runner, request, facts, baseline, say: () => {}, kept_only };
  const { runtimes } = await originalSpeeds(original);
  const spoken = calls.flatMap((one) =>
    one.call === "speed" ? [`${one.runtime} ${one.precision}`] : []
  );
  return { runtimes, spoken };
}

/** With and without an environment of llama.cpp, and the variable that the suite runs under. */
async function within(
  variables: Readonly<Record<string, string | undefined>>,
  run: (root: string) => Promise<void>,
) {
  const set = (name: string, value: string | undefined) =>
    value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) set(name, value);
  try {
    await inDirectory(run);
  } finally {
    for (const [name, value] of before) set(name, value);
  }
}

const MADE = { PARE_QUIET_SECONDS: undefined, PARE_ENV_LLAMA_CPP: Deno.execPath() };
const MADE_ALL = { ...MADE, PARE_ENV_DEFAULT: Deno.execPath() };

Deno.test("the original is timed in every runtime that is made here, once for a machine and model", () =>
  within(MADE_ALL, async (root) => {
    const none = await timed(root, { bf16: true, kept_only: true });
    assert.deepEqual([none.spoken, none.runtimes], [[], undefined]);
    const first = await timed(root, { bf16: true });
    const ways = [
      "openvino f32",
      "openvino bf16",
      "llama.cpp f16",
      "llama.cpp bf16",
      "llama.cpp f32",
    ];
    assert.deepEqual(first.spoken, ways);
    assert.deepEqual(first.runtimes!.map(({ latency_ms }) => latency_ms), [20, 15, 8, 15, 20]);
    assert.equal(first.runtimes![0]!.numerics!.threads, 2);
    const second = await timed(root, { bf16: true, kept_only: true });
    assert.deepEqual([second.spoken, second.runtimes], [[], first.runtimes]);
    // Another machine, and a runtime that was asked for, are timed.
    assert.deepEqual((await timed(root)).spoken, [
      "openvino f32",
      "llama.cpp f16",
      "llama.cpp f32",
    ]);
    const asked = await timed(root, {}, "transformers");
    assert.ok(asked.spoken.includes("transformers f32"));
  }));

Deno.test("runtimes that are not told apart are timed in turn until they are, and no longer", () =>
  within(MADE_ALL, async (root) => {
    const near = { "openvino f32": [9.2, 9.3], "llama.cpp f16": [8.9, 8.7] };
    const { spoken, runtimes } = await timed(root, { first: near });
    assert.deepEqual(spoken.slice(3), ["llama.cpp f16", "openvino f32"]);
    const own = runtimes!.find(({ precision }) => precision === "f16")!;
    assert.deepEqual([own.latency_ms, own.sessions], [8.7, 2]);
    assert.ok(Math.abs(own.standard_error! - 0.2) < 1e-9, "sessions differ more than their passes");
    const same = { "openvino f32": Array<number>(9).fill(8) };
    const { spoken: more } = await timed(root, { bf16: true, first: same });
    assert.equal(more.filter((way) => way === "openvino f32").length, 4);
    assert.equal(more.filter((way) => way === "llama.cpp f16").length, 4);
    assert.equal(more.length, 5 + 6);
  }));

Deno.test("a runtime that fails is kept with its reason, and timed again by the next study", () =>
  within(MADE_ALL, async (root) => {
    const { runtimes } = await timed(root, { broken: "f32" });
    assert.deepEqual(
      runtimes!.map(({ precision, latency_ms, reason }) => [precision, latency_ms, reason]),
      [["f32", null, "it broke"], ["f16", 8, null], ["f32", null, "it broke"]],
    );
    assert.equal((await timed(root)).spoken.length, 3);
    assert.equal((await timed(root)).spoken.length, 0);
  }));

Deno.test("a session that other work disturbed decides nothing: further ones in turn tell the runtimes apart", () =>
  within(MADE_ALL, async (root) => {
    const { runtimes, spoken } = await timed(root, { first: { "llama.cpp f16": [24, 70] } });
    const own = runtimes!.find(({ precision }) => precision === "f16")!;
    assert.deepEqual([own.latency_ms, own.sessions], [8, 4]);
    const [fastest] = unbeaten({ runtimes });
    assert.deepEqual([fastest, unbeaten({ runtimes }).length], ["llama.cpp", 1]);
    assert.equal(spoken.filter((way) => way === "llama.cpp f16").length, 4);
  }));

Deno.test("a slow pass of the fastest session leaves the choice open no longer than another that agrees", () =>
  within(MADE_ALL, async (root) => {
    // Of SmolLM2 on an idle machine, whose pages lay on the disk yet.
    const first = { "openvino f32": [10.2, 10.1], "llama.cpp f16": [8.3, 8.4] };
    const { runtimes, spoken } = await timed(root, { first, errors: { "llama.cpp f16": [3.65] } });
    assert.equal(spoken.length, 3 + 2);
    assert.deepEqual(unbeaten({ runtimes }), ["llama.cpp"]);
  }));

Deno.test("a timing that other work disturbed is taken and not kept", () =>
  within(MADE_ALL, async (root) => {
    const { runtimes } = await timed(root, { busy: true });
    assert.equal(runtimes!.filter(({ busy_cores }) => busy_cores! > 0).length, 3);
    // The best of each are repeated in turn until they may decide: twice.
    assert.deepEqual(runtimes!.map(({ sessions = 1 }) => sessions), [3, 3, 1]);
    assert.equal((await timed(root, { busy: true })).spoken.length, 7);
  }));

Deno.test("one way to run is not timed, and nothing where timings are to decide nothing", async () => {
  await within({ ...MADE, PARE_ENV_LLAMA_CPP: undefined }, async (root) => {
    assert.deepEqual((await timed(root)).spoken, []);
  });
  const quiet = { ...MADE_ALL, PARE_QUIET_SECONDS: "0" };
  await within(quiet, () => Promise.resolve(assert.equal(timingsDecide(), false)));
  await within(MADE_ALL, () => Promise.resolve(assert.equal(timingsDecide(), true)));
});
