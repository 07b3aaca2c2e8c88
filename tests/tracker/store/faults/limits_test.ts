import assert from "node:assert/strict";
import { openStore, rebuildDatabase, type Store } from "../../../../tracker/store/store.ts";
import { contents } from "../../../fixtures/stores/contents.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { AT, measurement, STUDY, trialId } from "../../../fixtures/stores/records.ts";

/** Names that every table, plot and other tracker can hold: up to the longest. */
const NAMES = [
  "a",
  "x".repeat(250),
  "loss/train",
  "a b",
  "ünïcode 测试 🙂",
  "__proto__",
  "constructor",
  "NaN",
  "'",
  '"',
  "'; DROP TABLE measurements; --",
  "$value",
  "%s",
  "\\",
  "null",
  "-Infinity",
  "'NaN",
];
const BEYOND = ["", "x".repeat(251), "a\0b", "a\nb", "\u001b[31m", "\ud800", "\u0085"];

const VALUES = [
  0,
  -0,
  1,
  0.1,
  -1.5,
  5e-324,
  -5e-324,
  Number.MIN_VALUE,
  2.2250738585072014e-308,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  Number.EPSILON,
  2 ** 53,
  2 ** 53 + 2,
  1e21,
  NaN,
  Infinity,
  -Infinity,
];

/** Numbers as their bits: -0 and 0 differ, and NaN is equal to itself. */
function same(found: readonly unknown[], expected: readonly number[], what: string): void {
  assert.equal(found.length, expected.length, what);
  for (const [at, value] of expected.entries()) {
    assert.ok(Object.is(found[at], value), `${what}: ${value} came back as ${found[at]}`);
  }
}

const RUN = { study_id: STUDY, trial_id: trialId(1) };

async function measured(store: Store, measurements: ReturnType<typeof measurement>[]) {
  await store.record({ type: "measured", at: AT, ...RUN, measurements });
}

Deno.test("Metric names at every limit are kept as they are; those beyond are refused in a sentence", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(RUN);
    await measured(store, NAMES.map((name, at) => measurement(name, at)));
    // A plain object literal cannot hold `__proto__` as a name of its own.
    await Promise.all(
      NAMES.map((name, step) => run.log(Object.fromEntries([[name, step]]), { step })),
    );
    await store.flush();
    for (const table of ["measurements", "metric_points"]) {
      const { rows } = await store.query(`SELECT metric, value FROM ${table} ORDER BY value`);
      assert.deepEqual(rows, NAMES.map((metric, value) => ({ metric, value })), table);
    }
    for (const name of BEYOND) {
      await assert.rejects(
        async () => await run.log({ [name]: 1 }, { step: 0 }),
        /Cannot log the metric/,
        JSON.stringify(name),
      );
    }
    await store.flush();
    const { rows } = await store.query("SELECT count(*) AS n FROM metric_points");
    assert.deepEqual(rows, [{ n: NAMES.length }]);
  }));

Deno.test("Metric values at every limit come back bit for bit, also after a rebuild", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(RUN);
    await measured(store, VALUES.map((value) => measurement("metric", value)));
    await run.logBatch({ value: VALUES }, { step: 0 });
    const check = async (when: string) => {
      await store.flush();
      const byOrder = "SELECT value FROM measurements ORDER BY rowid";
      const bySteps = "SELECT value FROM metric_points ORDER BY step";
      for (const sql of [byOrder, bySteps]) {
        const { rows } = await store.query(sql);
        same(rows.map((row) => row["value"]), VALUES, `${sql} ${when}`);
      }
    };
    await check("at once");
    const before = await contents(store);
    await rebuildDatabase(store);
    await check("after a rebuild");
    assert.deepEqual(await contents(store), before);
  }));

Deno.test("What is no number, no step and no moment is refused, and the run goes on", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const run = store.openRun(RUN);
    const wrong: [unknown, unknown][] = [
      [{ loss: "0.5" }, { step: 0 }],
      [{ loss: null }, { step: 0 }],
      [{ loss: 1n }, { step: 0 }],
      [{ loss: [1] }, { step: 0 }],
      [{}, { step: 0 }],
      [{ loss: 1 }, { step: 0.5 }],
      [{ loss: 1 }, { step: NaN }],
      [{ loss: 1 }, { step: 2 ** 53 }],
      [{ loss: 1 }, { step: 0, happened_at: NaN }],
      [{ loss: 1 }, { step: 0, happened_at: 9e15 }],
    ];
    for (const [metrics, options] of wrong) {
      const log = async () =>
        await run.log(metrics as Record<string, number>, options as { step: number });
      await assert.rejects(log, /^UsageError|Cannot log/, String(Object.values(options as object)));
    }
    const limits = [-(2 ** 53 - 1), -1, 0, 2 ** 53 - 1];
    for (const step of limits) await run.log({ loss: step }, { step });
    await store.flush();
    const { rows } = await store.query("SELECT step FROM metric_points ORDER BY step");
    assert.deepEqual(rows.map((row) => row["step"]), limits);
  }));

Deno.test("An event of 100 MB is refused in a sentence, the next ones are kept", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const event = (evidence: string) =>
      store.record({ type: "alert", at: AT, ...RUN, condition: "c", evidence, action: "none" });
    await assert.rejects(
      event("x".repeat(100_000_000)),
      /Cannot record alert as it has .* of at most/,
    );
    await event("x".repeat(10_000_000));
    await event("small");
    await store.flush();
    const { rows } = await store.query(
      "SELECT length(evidence) AS n FROM alerts ORDER BY position",
    );
    assert.deepEqual(rows, [{ n: 10_000_000 }, { n: 5 }]);
    assert.deepEqual((await store.query("FROM problems")).rows, []);
  }));
