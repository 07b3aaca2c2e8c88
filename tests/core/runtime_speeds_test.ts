/** A study knows its machine: which runtime it takes, and what its trials are timed in beside it. */
import assert from "node:assert/strict";
import {
  besideOriginal,
  type Facts,
  inferSpec,
  ratioSides,
  replayStudy,
  runStudy,
  toTimeAgain,
} from "../../core/mod.ts";
import { plugins, request, runtimes, smallFacts } from "./spec_fixtures.ts";
import { failure, historyOf, run, type World, world } from "./study_world.ts";

type Speed = NonNullable<Facts["runtimes"]>[number];

const numerics = (inference_precision: string) => ({
  ...{ inference_precision, kv_precision: "f32", activation_group: 0, threads: 2 },
});

function speed(runtime: string, precision: string, latency_ms: number | null): Speed {
  return {
    ...{
      runtime,
      precision,
      latency_ms,
      numerics: latency_ms === null ? null : numerics(precision),
    },
    ...{ standard_error: 0.1, passes: 5, bytes_read: 269_000_000, at: "2026-01-01T00:00:00Z" },
    reason: latency_ms === null ? "no memory" : null,
  };
}

const SPEEDS = [
  speed("swift", "f32", 19.3),
  speed("swift", "bf16", 15.4),
  speed("plain", "f16", 8.52),
  speed("plain", "f32", null),
];
const timed = (speeds = SPEEDS): Facts => ({ ...smallFacts(), runtimes: speeds });

Deno.test("a study takes the runtime that ran the original fastest, and says the figures", () => {
  const spec = inferSpec(request(), timed(), plugins);
  assert.equal(spec.runtime, "plain");
  const { reason } = spec.assumptions.find(({ field }) => field === "runtime")!;
  assert.match(
    reason,
    /^fastest with the original \(a token: swift 15.4 ms in bfloat16, 19.3 ms in float32; plain 8.52 ms in float16, float32 failed: no memory\)/,
  );
  assert.deepEqual(spec.runtimes, [
    { runtime: "plain", precision: "f16", latency_ms: 8.52 },
    { runtime: "swift", precision: "bf16", latency_ms: 15.4 },
  ]);
  assert.deepEqual(spec.warnings, []);
  const slow = inferSpec(request(), timed([speed("swift", "f32", 5), SPEEDS[2]!]), plugins);
  assert.equal(slow.runtime, "swift");
  assert.equal(inferSpec(request(), smallFacts(), plugins).runtimes, undefined);
});

Deno.test("of timings that are not told apart the fastest is taken and said so; a busy machine's decide nothing", () => {
  const chosen = (plain: Partial<Speed>) => {
    const facts = timed([{ ...SPEEDS[2]!, ...plain }, speed("swift", "f32", 8.7)]);
    const { runtime, assumptions, warnings } = inferSpec(request(), facts, plugins);
    assert.deepEqual(warnings, []);
    return [runtime, assumptions.find(({ field }) => field === "runtime")!.reason] as const;
  };
  const [near, told] = chosen({});
  assert.equal(near, "plain", "0.18 ms apart, with an error of 0.1 each");
  assert.match(told, /^fastest with the original, not told apart from swift \(a token/);
  assert.equal(chosen({ standard_error: 0.001, latency_ms: 8.4 })[0], "plain");
  const [busy, said] = chosen({ latency_ms: 2, busy_cores: 1.5 });
  assert.equal(busy, "swift");
  assert.match(
    said,
    /^preferred .*, as other work disturbed the timings of the original \(a token/,
  );
});

Deno.test("timings of a busy machine decide once they were repeated in turn and are far apart", () => {
  const busy = (runtime: string, ms: number, sessions: number): Speed => ({
    ...{ ...speed(runtime, "f32", ms), busy_cores: 1, sessions },
  });
  const chosen = (sessions: number, ms: number) => {
    const runtimes = [busy("plain", 15, sessions), busy("swift", ms, sessions)];
    const { runtime, assumptions } = inferSpec(request(), timed(runtimes), plugins);
    return [runtime, assumptions.find(({ field }) => field === "runtime")!.reason] as const;
  };
  assert.equal(chosen(2, 24)[0], "swift");
  const [near, open] = chosen(3, 18);
  assert.equal(near, "plain");
  assert.match(open, /timed in turn beside other work, not told apart from swift \(a token/);
  const [far, why] = chosen(3, 24);
  assert.equal(far, "plain");
  assert.match(why, /^fastest with the original, timed in turn beside other work \(a token/);
  const again = toTimeAgain({ runtimes: [busy("plain", 15, 1), busy("swift", 24, 1)] });
  assert.deepEqual(again.map(({ runtime }) => runtime), ["plain", "swift"]);
  assert.deepEqual(toTimeAgain({ runtimes: [busy("plain", 15, 3), busy("swift", 24, 3)] }), []);
});

Deno.test("a precision that overtakes the one that was repeated does not undo that its runtime was", () => {
  const busy = (runtime: string, precision: string, ms: number, sessions: number): Speed => ({
    ...{ ...speed(runtime, precision, ms), busy_cores: 0.5, sessions },
  });
  const runtimes = [
    busy("plain", "f16", 10.1, 4),
    busy("plain", "bf16", 9.83, 2),
    busy("swift", "bf16", 14.5, 4),
  ];
  assert.equal(inferSpec(request(), timed(runtimes), plugins).runtime, "plain");
  const once = runtimes.map((one) => ({ ...one, sessions: 2 }));
  assert.equal(inferSpec(request(), timed(once), plugins).runtime, "swift");
});

Deno.test("a runtime that was asked for is kept, and a faster one is named", () => {
  const spec = inferSpec(request({ runtime: "swift" }), timed(), plugins);
  assert.equal(spec.runtime, "swift");
  assert.deepEqual(spec.warnings, [
    "The original is fastest in plain (float16): 8.52 ms a token, in swift (bfloat16) 15.4 ms",
  ]);
});

Deno.test("the fastest runtime is passed over where it holds nothing that the methods write", () => {
  const cold = runtimes.map((one) =>
    one.name !== "plain"
      ? one
      : { ...one, holds: () => ({ ok: false as const, reason: "holds floats alone" }) }
  );
  const spec = inferSpec(request(), timed(), { ...plugins, runtimes: cold });
  assert.equal(spec.runtime, "swift");
  const { reason } = spec.assumptions.find(({ field }) => field === "runtime")!;
  assert.match(reason, /^next fastest with the original .*refused plain: .*holds floats alone/);
  assert.match(spec.warnings.join(), /fastest in plain \(float16\)/);
});

Deno.test("a ratio names both of its sides", () => {
  const row = (metric: string, precision: string, activation_group = 0) => ({
    ...{ metric, value: 4, unit: "ms/token", direction: "minimize" as const, n: 8 },
    ...{ standard_error: 0.1, fidelity: "full", provenance: "measured" as const, task: null },
    ...{ task_version: null, slice: null, runtime: "plain", device: "cpu", method: null },
    numerics: { inference_precision: precision, kv_precision: "f32", activation_group },
  });
  const both = [row("latency_ms", "f32", 32), row("baseline_latency_ms", "f16")];
  assert.equal(
    besideOriginal("0.47", ratioSides(both, "plain")),
    "0.47 of the original's in plain (float16), itself in plain (float32, inputs rounded by 32)",
  );
  const alike = [row("latency_ms", "f16"), row("baseline_latency_ms", "f16")];
  assert.equal(
    besideOriginal("0.47", ratioSides(alike, "plain")),
    "0.47 of the original's in plain (float16)",
  );
  assert.equal(ratioSides(both, "swift"), null);
  assert.equal(besideOriginal("0.47", null), "0.47 of the original's");
});

/** A world that was timed, and every timing that its backend is asked for. */
function timedWorld(broken?: string) {
  const w = world({}, { facts: timed() });
  const spoken: string[] = [];
  const { speed } = w.backend;
  w.backend.speed = (trial_id, artifact, baseline, runtime, alone) => {
    spoken.push(`${trial_id} ${runtime}`);
    return runtime === broken
      ? Promise.resolve({ ok: false, failure: failure("invalid", "it broke"), spans: [] })
      : speed(trial_id, artifact, baseline, runtime, alone);
  };
  return { w, spoken };
}

const beside = (w: World) =>
  w.records.flatMap((one) => one.type === "timed_in_runtime" ? [one] : []);

Deno.test("what is on the front is timed in every other runtime that holds it, once", async () => {
  const { w, spoken } = timedWorld();
  const { front } = await run(w, { runtimes });
  const records = beside(w);
  const compressed = front.filter((id) => id !== "study/t00");
  assert.ok(compressed.length > 1);
  for (const id of compressed) {
    assert.ok(records.some(({ trial_id, runtime }) => trial_id === id && runtime === "swift"), id);
  }
  assert.equal(new Set(records.map(({ trial_id }) => trial_id)).size, records.length);
  for (const { measurements, reason } of records) {
    assert.equal(reason, null);
    const metrics = measurements.map(({ metric, runtime }) => `${metric} ${runtime}`);
    assert.ok(
      metrics.includes("latency_ms swift") && metrics.includes("baseline_latency_ms swift"),
    );
  }
  const study = replayStudy(w.records, "study")!;
  assert.equal(study.elsewhere.length, records.length);
  for (const { measurements } of study.trials) {
    assert.ok(measurements.every(({ runtime }) => runtime === null || runtime === "plain"));
  }
  // It goes on: nothing is timed twice.
  const before = spoken.length;
  await runStudy(w.input({ runtimes, history: historyOf(w) }), w.ports);
  assert.deepEqual(spoken.slice(before).filter((one) => one.endsWith("swift")), []);
});

Deno.test("a trial that another runtime does not hold, or fails in, keeps its own figures", async () => {
  const cold = runtimes.map((one) =>
    one.name === "swift" ? { ...one, holds: () => ({ ok: false as const, reason: "cold" }) } : one
  );
  const none = timedWorld();
  await run(none.w, { runtimes: cold });
  assert.deepEqual(beside(none.w), []);
  const { w } = timedWorld("swift");
  const plain = timedWorld();
  const whole = await run(plain.w, { runtimes });
  const { front } = await run(w, { runtimes });
  assert.deepEqual(front, whole.front);
  assert.ok(beside(w).length > 0);
  for (const { reason, measurements } of beside(w)) {
    assert.match(reason!, /it broke/);
    assert.deepEqual(measurements, []);
  }
});
