import assert from "node:assert/strict";
import { journalOf } from "../../fixtures/stores/journals.ts";
import { join } from "node:path";
import type { JournalRecord, Points } from "../../../core/mod.ts";
import { flushDatabase } from "../../../tracker/store/index/database_tasks.ts";
import { readJournal } from "../../../tracker/store/journal/reader.ts";
import {
  decodeIntegers,
  decodeValues,
  encodeIntegers,
  encodeValues,
  toInt64,
} from "../../../tracker/store/points/columns.ts";
import { openStore, rebuildDatabase, type Store } from "../../../tracker/store/store.ts";
import { startScript } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, trialId, trialRecords } from "../../fixtures/stores/records.ts";

const KEY = { study_id: STUDY, trial_id: trialId(1) };

async function recordsOf(store: Store): Promise<JournalRecord[]> {
  const entries = await Array.fromAsync(readJournal(journalOf(store.paths.root)));
  return entries.flatMap((entry) => entry.kind === "record" ? [entry.record] : []);
}

async function pointsOf(store: Store, order = "metric, step"): Promise<unknown[][]> {
  await store.flush();
  const { rows } = await store.query(
    `SELECT metric, step, value FROM metric_points ORDER BY ${order}`,
    { maxRows: 1_000_000 },
  );
  return rows.map(({ metric, step, value }) => [metric, step, value]);
}

Deno.test("encodeIntegers() keeps whole numbers exactly in each of its forms", () => {
  const largest = Number.MAX_SAFE_INTEGER;
  for (
    const [form, values] of [
      ["by", [7]],
      ["by", [5, 5, 5]],
      ["by", [-3, 0, 3, 6]],
      ["by", [0, largest]],
      ["bytes", [0, 1, 3, -100]],
      ["bytes", [1.7e12, 1.7e12 + 40_000 - 8_000, 1.7e12]],
      ["bytes", [0, 2 ** 31 - 1, 5]],
      ["exact", [0, 2 ** 31, 5]],
      ["exact", [-largest, largest, 0]],
    ] as const
  ) {
    const column = encodeIntegers(Float64Array.from(values));
    assert.ok(form in column, `${values}: ${JSON.stringify(column)}`);
    assert.deepEqual([...decodeIntegers(column, values.length)], values);
  }
});

Deno.test("toInt64() gives every whole number, also times a factor that leaves 2^53", () => {
  const values = [
    0,
    -1,
    1,
    2 ** 31,
    -(2 ** 31) - 1,
    2 ** 32,
    -(2 ** 32),
    1.7e12,
    8.64e15,
    -8.64e15,
  ];
  values.push(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER);
  for (const factor of [1, 1000]) {
    const exact = values.map((value) => BigInt.asIntN(64, BigInt(value) * BigInt(factor)));
    assert.deepEqual([...toInt64(Float64Array.from(values), factor)], exact);
  }
});

Deno.test("encodeValues() keeps every bit: payloads of NaN, -0, denormals, infinities", () => {
  const bits = [0x7ff8_0000_dead_beefn, 0xfff0_0000_0000_0001n, 1n << 63n, 1n, 0x7ffn << 52n, 5n];
  const values = new Float64Array(BigUint64Array.from(bits).buffer);
  const points = {
    metrics: ["a", "b"],
    rows: 3,
    values: encodeValues([values.subarray(0, 3), values.subarray(3)]),
  } as unknown as Points; // the fields that are read
  const found = decodeValues(points).flatMap((column) => [
    ...new BigUint64Array(column.slice().buffer),
  ]);
  assert.deepEqual(found, bits);
});

Deno.test("Run.log() calls that wait together share records, and every point reaches the table", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(KEY);
    const other = store.openRun({ ...KEY, trial_id: trialId(2) });
    const calls: Promise<void>[] = [];
    for (let step = 0; step < 300; step++) {
      calls.push(run.log({ loss: step / 3, lr: 1e-3 }, { step }));
      if (step % 100 === 0) calls.push(run.log({ accuracy: step }, { step }));
      calls.push(other.log({ loss: -step }, { step, happened_at: 1000 * step }));
    }
    await Promise.all(calls);
    const records = await recordsOf(store) as Points[]; // nothing else is recorded
    assert.deepEqual(records.map(({ rows, metrics }) => [rows, metrics]), [
      [300, ["loss", "lr"]],
      [3, ["accuracy"]],
      [300, ["loss"]],
    ]);
    const found = await pointsOf(store, "trial_id, metric, step");
    assert.equal(found.length, 903);
    assert.deepEqual(found.slice(0, 3), [0, 100, 200].map((step) => ["accuracy", step, step]));
    assert.deepEqual(found.at(-1), ["loss", 299, -299]);
    const { rows } = await store.query(
      "SELECT max(happened_at) AS last, count(DISTINCT series_id) AS n FROM metric_values JOIN metric_series USING (series_id) WHERE trial_id = ?",
      { params: [trialId(2)] },
    );
    assert.deepEqual(rows, [{ last: new Date(299_000), n: 1 }]);
  }));

Deno.test("Run.logBatch() takes columns of any number type and cuts long ones into records", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(KEY);
    const rows = 70_000;
    const long = Float64Array.from({ length: rows }, (_, i) => i / 7);
    await run.logBatch({ long }, { step: 10 });
    await run.logBatch({ list: [NaN, -0, Infinity], float: Float32Array.of(1.5, 2.5, -3) }, {
      step: Int32Array.of(3, 1, 2),
      happened_at: [5, 4, 1_800_000_000_000],
    });
    await run.logBatch({ nothing: [] }, { step: 0 });
    const records = await recordsOf(store) as Points[]; // nothing else is recorded
    assert.deepEqual(records.map((record) => record.rows), [61_440, rows - 61_440, 3]);
    const found = await pointsOf(store);
    assert.deepEqual(found.slice(0, 6), [
      ["float", 1, 2.5],
      ["float", 2, -3],
      ["float", 3, 1.5],
      ["list", 1, -0],
      ["list", 2, Infinity],
      ["list", 3, NaN],
    ]);
    assert.deepEqual(
      found.slice(6),
      Array.from({ length: rows }, (_, i) => ["long", i + 10, i / 7]),
    );
  }));

Deno.test("Run.log() refuses names, values and steps that cannot be kept, in a sentence", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(KEY);
    const step = 0;
    const wrong: [() => unknown, RegExp][] = [
      [() => run.log({ "": 1 }, { step }), /metric "" as it is empty/],
      [
        () => run.log({ ["x".repeat(10_000)]: 1 }, { step }),
        /has 10000 characters, of at most 250/,
      ],
      [() => run.log({ "a\nb": 1 }, { step }), /"a\\nb" as it holds a control character/],
      [() => run.log({ "\ud800": 1 }, { step }), /half a character/],
      [() => run.log({}, { step }), /there are none/],
      [() => run.log({ a: 1, b: "2" as unknown as number }, { step }), /"b" .* it is string/],
      [() => run.log({ a: 1 }, { step: 0.5 }), /at step 0.5 .* whole number/],
      [() => run.log({ a: 1 }, { step: 2 ** 53 }), /whole number/],
      [() => run.log({ a: 1 }, { step, happened_at: new Date(NaN) }), /happened_at must be/],
      [() => run.logBatch({ a: [1], b: [1, 2] }, { step }), /b has 2 rows, the first metric 1/],
      [() => run.logBatch({ a: [1, null as unknown as number] }, { step }), /it is null/],
      [() => run.logBatch({ a: [1] }, { step: [0.1] }), /whole number/],
      [() => store.openRun({ ...KEY, trial_id: "" }), /trial "" as it is empty/],
    ];
    for (const [call, sentence] of wrong) assert.throws(call, sentence);
    const names = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`m${i}`, i]));
    assert.throws(() => run.log(names, { step }), /10001 in one call/);
    const hostile = ["../x", "a/b", "%2e%2e", "'; DROP TABLE trials", "__proto__", "é 語", "NaN"];
    await run.log(Object.fromEntries(hostile.map((name, i) => [name, i])), { step });
    assert.deepEqual((await pointsOf(store)).map(([name]) => name).sort(), hostile.sort());
  }));

Deno.test("Points of an interrupted run go when its trial is opened again, in any order of flushes", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(KEY);
    const [opened] = trialRecords({ number: 1, accuracy: 0.5, latency_ms: 5, size_bytes: 5 });
    const ids = "SELECT * FROM metric_series ORDER BY ALL";
    const first = run.log({ loss: 1, old: 1 }, { step: 0 });
    const again = store.record(opened!);
    await Promise.all([first, again, run.log({ loss: 2 }, { step: 0 })]);
    assert.deepEqual(await pointsOf(store), [["loss", 0, 2]]);
    await store.record(opened!);
    await store.flush();
    assert.deepEqual(await pointsOf(store), []);
    await run.log({ loss: 3 }, { step: 1 });
    assert.deepEqual(await pointsOf(store), [["loss", 1, 3]]);
    const before = (await store.query(ids)).rows;
    await rebuildDatabase(store);
    assert.deepEqual(await pointsOf(store), [["loss", 1, 3]]);
    assert.deepEqual((await store.query(ids)).rows, before);
  }));

Deno.test("Points of two studies that stand at the same place of their journals are kept apart", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const [study_id, loss] of [["a", 1], ["b", 2]] as const) {
      const run = store.openRun({ study_id, trial_id: `${study_id}/t` });
      await run.log({ loss }, { step: 0 });
    }
    await store.flush();
    const { rows } = await store.query("SELECT study_id, value FROM metric_points ORDER BY ALL");
    assert.deepEqual(rows, [{ study_id: "a", value: 1 }, { study_id: "b", value: 2 }]);
  }));

Deno.test("A clock that is set back an hour changes no order and loses no point", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(KEY);
    const noon = Date.UTC(2026, 2, 1, 12);
    for (const [step, value, hours] of [[0, 1, 0], [1, 2, -1], [1, 3, -1], [2, 4, 0]] as const) {
      await run.log({ loss: value }, { step, happened_at: noon + hours * 3_600_000 });
    }
    const found = await pointsOf(store, "step, position");
    assert.deepEqual(found.map(([, , value]) => value), [1, 2, 3, 4]);
  }));

Deno.test("Store.series() keeps the ends, every peak and NaN of a long series, and all of a short one", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(KEY);
    const rows = 50_000;
    const loss = Float64Array.from({ length: rows }, (_, i) => Math.sin(i / 500));
    loss[12_345] = 9;
    loss[23_456] = -9;
    loss[34_567] = NaN;
    await run.logBatch({ loss, other: loss }, { step: 100 });
    await run.log({ short: 1 }, { step: 5, happened_at: 1000 });
    await run.log({ short: 2 }, { step: 5, happened_at: 0 });
    await run.log({ short: -0 }, { step: -7, happened_at: 2000 });
    await store.flush();
    const thin = await store.series({ ...KEY, metric: "loss" }, { points: 200 });
    assert.deepEqual([thin.count, thin.nan_count, thin.stale], [rows, 1, null]);
    assert.ok(thin.points.length <= 200 && thin.points.length > 150, `${thin.points.length}`);
    const at = new Map(thin.points.map(({ step, value }) => [step, value]));
    for (const i of [0, 12_345, 23_456, 34_567, rows - 1]) assert.equal(at.get(i + 100), loss[i]);
    for (const [step, value] of at) assert.equal(value, loss[step - 100]);
    assert.deepEqual([...at.keys()], [...at.keys()].toSorted((a, b) => a - b));
    const short = await store.series({ ...KEY, metric: "short" });
    assert.deepEqual(short.points, [
      { step: -7, value: -0, happened_at: new Date(2000) },
      { step: 5, value: 1, happened_at: new Date(1000) },
      { step: 5, value: 2, happened_at: new Date(0) },
    ]);
    const none = await store.series({ ...KEY, metric: "unknown" });
    assert.deepEqual(none, { count: 0, nan_count: 0, points: [], stale: null });
    assert.throws(() => store.series({ ...KEY, metric: "loss" }, { points: 1 }), /to 1 points/);
  }));

Deno.test("flushDatabase() gives the database back after its budget, and the rest follows once", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const quiet = store.pauseSink();
    const rows = 600_000;
    await store.openRun(KEY).logBatch({ loss: new Float64Array(rows).fill(0.5) }, { step: 0 });
    const reached = [0];
    for (let whole = false; !whole;) {
      const options = { patience_ms: 1000, keep_log: true, budget_ms: 0 };
      const { caught_up, database_bytes } = await flushDatabase(store.paths, "all", options);
      reached.push(database_bytes);
      whole = caught_up;
    }
    assert.ok(reached.length >= 4, `${reached}`); // 245,760 points a commit at most
    quiet[Symbol.dispose]();
    await store.flush();
    const { rows: found } = await store.query(
      "SELECT count(*) AS n, count(DISTINCT step) AS steps, sum(value) AS total FROM metric_points",
    );
    assert.deepEqual(found, [{ n: rows, steps: rows, total: rows / 2 }]);
  }));

Deno.test("Run.log() at the limit of a file says so, and the same run goes on when it is raised", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    // The limit on a file's size stands in for the disk's: the same write fails in the same place.
    const script = `
      import { openStore } from ${
      JSON.stringify(import.meta.resolve("../../../tracker/store/store.ts"))
    };
      const store = await openStore(${JSON.stringify(root)}, { write: true });
      store.pauseSink();
      const run = store.openRun({ study_id: "s", trial_id: "s/t" });
      let step = 0;
      try {
        for (;;) { await run.log({ loss: step }, { step }); step++; }
      } catch (error) { console.log(JSON.stringify({ step, message: error.message })); }
      for (;;) {
        try {
          await Promise.all([0, 1, 2].map((i) => run.log({ loss: step + i }, { step: step + i })));
          break;
        } catch { await new Promise((done) => setTimeout(done, 20)); }
      }
      console.log("again");
      Deno.exit(0);`;
    const child = await startScript(directory, script, [
      "bash",
      "-c",
      'trap "" XFSZ; ulimit -S -f 64; exec "$@"',
      "bash",
    ]);
    const { step, message } = JSON.parse(await child.line() ?? "{}");
    assert.match(message, /Cannot append .* as no file may be so large here .*ulimit -f/);
    const unlimited = ["--pid", `${child.pid}`, "--fsize=unlimited"];
    assert.ok((await new Deno.Command("prlimit", { args: unlimited }).output()).success);
    assert.equal(await child.line(), "again");
    await child.kill();
    await using store = await openStore(root, { write: true });
    assert.equal((await store.take("s")).torn, null);
    assert.ok(step > 20);
    const found = (await pointsOf(store)).map(([, at]) => at);
    assert.deepEqual(found, Array.from({ length: step + 3 }, (_, i) => i));
  }));

Deno.test("kill -9 while points are logged and taken over loses and doubles none that was acknowledged", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    let from = 0;
    for (const rounds of [2, 30, 90]) {
      const script = `
        import { openStore } from ${
        JSON.stringify(import.meta.resolve("../../../tracker/store/store.ts"))
      };
        const store = await openStore(${JSON.stringify(root)}, { write: true });
        const run = store.openRun({ study_id: "s", trial_id: "s/t" });
        for (let step = ${from};; step += 2000) {
          const some = Array.from({ length: 500 }, (_, i) => run.log({ a: step + i }, { step: step + i }));
          const rest = Float64Array.from({ length: 1500 }, (_, i) => step + 500 + i);
          await Promise.all([...some, run.logBatch({ a: rest }, { step: step + 500 })]);
          console.log(step + 1999);
          void store.flush();
        }`;
      const child = await startScript(directory, script);
      let acknowledged = -1;
      for (let n = 0; n < rounds; n++) acknowledged = Number(await child.line());
      await child.kill();
      await using store = await openStore(root, { write: true });
      assert.equal((await store.flush()).error, null);
      const { rows: [found] } = await store.query(
        "SELECT count(*) AS n, count(DISTINCT step) AS steps, max(step) AS last, bool_and(step = value) AS same FROM metric_points",
      );
      from = Number(found!["last"]) + 1;
      assert.ok(from > acknowledged, `${from} of ${acknowledged}`);
      assert.deepEqual(found, { n: from, steps: from, last: from - 1, same: true });
    }
  }));
