import assert from "node:assert/strict";
import { type ModelFacts, OwnFacts } from "../../core/schemas/facts.ts";
import { createLineSplitter } from "../../python-backends/child/line_splitter.ts";
import { readEvent, readResult } from "../../python-backends/worker/read_event.ts";
import { smallFacts } from "../core/spec_facts.ts";
import { runScripted } from "./scripted_worker.ts";

Deno.test("a line splitter joins chunks cut anywhere, also inside a character", () => {
  const bytes = new TextEncoder().encode('{"a":"é"}\n\n{"b":2}\n{"c":"日本"}');
  const whole: string[] = ['{"a":"é"}', '{"b":2}', '{"c":"日本"}'];
  for (let cut = 0; cut <= bytes.length; cut++) {
    const lines: string[] = [];
    const splitter = createLineSplitter({ onLine: (line) => lines.push(line), onOverflow() {} });
    splitter.push(bytes.subarray(0, cut));
    splitter.push(bytes.subarray(cut));
    splitter.end();
    assert.deepEqual(lines, whole, `cut at ${cut}`);
  }
});

Deno.test("a line splitter gives up on a line too long and keeps none of it", () => {
  const lines: string[] = [];
  let overflow = 0;
  const splitter = createLineSplitter({
    onLine: (line) => lines.push(line),
    onOverflow: (bytes) => overflow = bytes,
    maxBytes: 10,
  });
  splitter.push(new TextEncoder().encode("short\n"));
  for (let i = 0; i < 5; i++) splitter.push(new TextEncoder().encode("longer"));
  splitter.end();
  assert.deepEqual(lines, ["short"]);
  assert.equal(overflow, 12);
});

Deno.test("a line splitter that skips tells each line too long once, and reads those behind it", () => {
  const text = "short\nlonger than it may\n\nnext\nlonger again, with its end";
  for (const size of [1, 3, 7, 100]) {
    const lines: string[] = [];
    let told = 0;
    const splitter = createLineSplitter({
      ...{ onLine: (line) => lines.push(line), onOverflow: () => told++ },
      ...{ maxBytes: 10, skips: true },
    });
    const bytes = new TextEncoder().encode(`${text}\nlast\n`);
    for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size));
    splitter.end();
    assert.deepEqual([lines, told], [["short", "next", "last"], 2], `in parts of ${size}`);
  }
});

Deno.test("readEvent() refuses what is no JSON, no event, or more than an event", () => {
  for (const line of ["", "{", "[]", '{"event":"hello"}', '{"event":"ready","pid":1}']) {
    assert.equal(readEvent(line).ok, false, line);
  }
  const extra = '{"event":"ready","pid":1,"imports_seconds":0,"__proto__x":1}';
  assert.equal(readEvent(extra).ok, false);
  assert.equal(readEvent('{"event":"ready","pid":1,"imports_seconds":0.5}').ok, true);
});

Deno.test("readEvent() takes points in numbers that JSON cannot write, and bounds them", () => {
  const row = { step: 1, happened_at: 5, values: { loss: "NaN", learning_rate: 0.5 } };
  const read = readEvent(JSON.stringify({ event: "points", points: [row] }));
  assert(read.ok && read.event.event === "points");
  assert.deepEqual(read.event.points[0]?.values, { loss: NaN, learning_rate: 0.5 });
  for (
    const points of [Array(501).fill(row), [{ ...row, step: 1.5 }], [{
      ...row,
      values: { a: "x" },
    }]]
  ) {
    assert.equal(readEvent(JSON.stringify({ event: "points", points })).ok, false);
  }
});

/** What of a model's facts an artifact's files tell. */
function ownFacts(model: ModelFacts): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(OwnFacts.shape).map((name) => [name, model[name as never]]),
  );
}

Deno.test("readResult() gives NaN and infinities back as numbers and leaves text alone", () => {
  const read = readResult("verify", {
    layers: 1,
    minimum_cosine: "-Infinity",
    mean_cosine: 0.5,
    worst_layer: "NaN",
    generated_text: "Infinity",
    seconds: 1,
  });
  // A cosine is a plain number in the schema: infinity is refused by name.
  assert.equal(read.ok, false);
  const speed = readResult("apply", {
    size_bytes: 1,
    formula_bytes: 1,
    weight_bits: 4,
    activation_bits: null,
    stored_layers: 1,
    peak_memory_bytes: 1,
    notes: ["NaN"],
    floats: [{ part: "norm", tensors: 1, bytes: 2 }],
    loader: "pare",
    model: ownFacts(smallFacts().model),
    figures: [{ metric: "sparsity", layer: null, value: 0.5, unit: "1" }],
  });
  assert(speed.ok);
  assert.deepEqual(speed.value.notes, ["NaN"]);
  const measurement = {
    metric: "perplexity",
    value: "Infinity",
    unit: "1",
    direction: "minimize",
    n: 3,
    standard_error: null,
    fidelity: "full",
    provenance: "measured",
    task: "NaN",
    task_version: null,
    slice: null,
    runtime: null,
    numerics: null,
    device: null,
    method: null,
  };
  const evaluated = readResult("evaluate", {
    measurements: [measurement, { ...measurement, value: "NaN" }],
    samples: 0,
    requests: 2,
    reused_requests: 0,
    samples_sha256: "",
    protocol: {},
    protocol_parts: {},
    refused: [],
    scored: [],
  });
  assert(evaluated.ok);
  assert.equal(evaluated.value.measurements[0]?.value, Infinity);
  assert(Number.isNaN(evaluated.value.measurements[1]?.value));
  assert.equal(evaluated.value.measurements[0]?.task, "NaN");
});

/** A call speed's result with one figure. */
function sped(figure: Record<string, unknown>) {
  const numerics = { inference_precision: "f32", kv_precision: "f32", activation_group: 0 };
  const row = {
    ...{ value: 2, n: 1, standard_error: null, fidelity: "full", provenance: "measured" },
    ...{ task: null, task_version: null, slice: null, runtime: "r", numerics, device: "cpu" },
    method: null,
    ...figure,
  };
  return readResult("speed", {
    measurements: [row],
    baseline_measurements: [],
    numerics,
    ...{
      bytes_read_per_token: 1,
      memory_bandwidth_gb_s: 1,
      roofline_ms: 1,
      load_average: 0,
      threads: 1,
    },
    energy: {
      ...{ reader: "estimate", joules: 1, seconds: 1, idle_watts: 0, tokens: 1, how: "" },
      carbon_intensity: null,
    },
  });
}

Deno.test("a runtime's figure has the unit and the direction that the table of metrics declares", () => {
  const read = (figure: Record<string, unknown>) => {
    const result = sped(figure);
    if (!result.ok) return result.reason;
    const [{ unit, direction, value } = assert.fail("no row")] = result.value.measurements;
    return [unit, direction, value];
  };
  assert.deepEqual(read({ metric: "kv_bytes" }), ["bytes", "minimize", 2]);
  assert.deepEqual(read({ metric: "prefill_tokens_per_s", value: "Infinity" }), [
    ...["tokens/s", "maximize", Infinity],
  ]);
  assert.deepEqual(read({ metric: "latency_ratio" }), ["1", "minimize", 2]);
  assert.match(String(read({ metric: "latency_s" })), /no metric "latency_s" is declared/);
  assert.match(String(read({ metric: "kv_bytes", unit: "MB" })), /unit/);
});

Deno.test("NaN and infinities cross the wire", async () => {
  const values: number[] = [];
  const outcome = await runScripted(
    `for value in (float("nan"), float("inf"), float("-inf"), 1.5):
    report.alert("value", str(value))
return {"methods": [{"agent": "a", "method": "m", "knobs": {"k": float("nan")}}]}`,
    { onEvent: (event) => event.event === "alert" && values.push(Number(event.evidence)) },
  );
  assert.equal(values.length, 4);
  assert(outcome.ok, JSON.stringify(outcome));
  // A type is text: the string is what the schema takes.
  assert.equal(outcome.value.methods[0]?.knobs["k"], "NaN");
});

Deno.test("spans come with the outcome, also of a call that fails", async () => {
  const outcome = await runScripted(
    `with report.span("load", library=True):
    time.sleep(0.05)
with report.span("write"):
    raise CallFailure("invalid", "no")`,
  );
  assert(!outcome.ok);
  const named = Object.fromEntries(outcome.spans.map((span) => [span.name, span]));
  assert.deepEqual(Object.keys(named), ["start", "import", "load", "write", "end"]);
  assert(named.load!.library && named.load!.seconds >= 0.05);
  assert(!named.write!.library);
});
