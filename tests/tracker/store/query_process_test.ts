import assert from "node:assert/strict";
import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { frame, frames } from "../../../tracker/store/query/frames.ts";
import { needsDisk, queryError } from "../../../tracker/store/query/query_error.ts";
import { openDatabase } from "../../../tracker/store/index/open_database.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { startScript } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

/** Longer than any test may take: its steps cannot be interrupted. */
const STUCK = "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))";

function withStore(work: (store: Store, root: string) => Promise<void>): Promise<void> {
  return inDirectory(async (root) => {
    await using store = await recordedStore(root, studyRecords());
    await work(store, root);
  });
}

/** Processes of queries that this process, or another one, has started. */
function queryProcesses(parent = Deno.pid): number[] {
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    try {
      const status = Deno.readTextFileSync(`/proc/${Number(name)}/status`);
      if (!status.includes(`\nPPid:\t${parent}\n`)) continue;
      const command = Deno.readTextFileSync(`/proc/${name}/cmdline`);
      if (command.includes("query/process.ts")) found.push(Number(name));
    } catch {
      // not a process, or gone by now
    }
  }
  return found;
}

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!holds() && performance.now() < end) await new Promise((wait) => setTimeout(wait, 50));
  assert.ok(holds());
}

Deno.test("Store.query() ends what takes too much memory in one sentence, outside this process", () =>
  withStore((store) =>
    inDirectory(async (folder) => {
      const before = Deno.memoryUsage().rss;
      const greedy = [
        "SELECT length(repeat('x', 4000000000))",
        "SELECT list_sum(range(2000000000))",
        "SELECT list_sum(range(1000000000 + n)) FROM range(2) t(n)",
      ];
      for (const sql of greedy) {
        for (
          const asked of [store.query(sql), store.exportParquet(sql, join(folder, "out.parquet"))]
        ) {
          await assert.rejects(asked, (error: Error) => {
            assert.match(error.message, /^Cannot finish the query in the memory .*; narrow it$/);
            return error instanceof UsageError;
          });
        }
      }
      assert.ok(Deno.memoryUsage().rss - before < 500e6);
      assert.deepEqual((await store.query("SELECT count(*) AS n FROM trials")).rows, [{ n: 4 }]);
    })
  ));

Deno.test("Store.query() ends at its time limit also where DuckDB does not stop", () =>
  withStore(async (store) => {
    await store.query("SELECT 1");
    const started = performance.now();
    await assert.rejects(
      store.query(STUCK, { timeoutMs: 200 }),
      /^UsageError: Cannot finish the query in 0\.2 s: it was stopped/,
    );
    assert.ok(performance.now() - started < 10_000);
    assert.deepEqual((await store.query("SELECT 1 AS one")).rows, [{ one: 1 }]);
  }));

Deno.test("A query whose process is killed is one sentence, and the next one is answered", () =>
  withStore(async (store) => {
    await store.query("SELECT 1");
    const [first] = queryProcesses();
    Deno.kill(first!, "SIGKILL");
    await assert.rejects(store.query("SELECT 2 AS two"), (error: Error) => {
      assert.match(error.message, /^Cannot finish the query as its process ended \(SIGKILL/);
      return error instanceof UsageError;
    });
    assert.deepEqual((await store.query("SELECT 3 AS three")).rows, [{ three: 3 }]);
    const [second] = queryProcesses();
    assert.notEqual(first, second);
  }));

Deno.test("Queries keep their process, which goes with the store", () =>
  inDirectory(async (root) => {
    await using writer = await recordedStore(root, studyRecords());
    for (let n = 0; n < 3; n++) await writer.query("SELECT 1");
    assert.equal(queryProcesses().length, 1);
    await writer.close();
    await until(() => queryProcesses().length === 0);
  }));

Deno.test("The process of a query ends with the one that asked, in the middle of a query too", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const store = await openStore(root, { write: true });
    await Promise.all(studyRecords().map((record) => store.record(record)));
    await store.close();
    const module = import.meta.resolve("../../../tracker/store/store.ts");
    const endless = "SELECT count(*) FROM range(1000000000) a, range(100000) b";
    const asker = await startScript(
      directory,
      `import { openStore } from ${JSON.stringify(module)};
      const store = await openStore(${JSON.stringify(root)}, { write: false });
      await store.query("SELECT 1");
      console.log("ready");
      await store.query(${JSON.stringify(endless)}, { timeoutMs: 600_000 });`,
    );
    assert.equal(await asker.line(), "ready");
    const [pid] = queryProcesses(asker.pid);
    await new Promise((wait) => setTimeout(wait, 300));
    await asker.kill();
    const gone = () => {
      try {
        return !Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("query/process.ts");
      } catch {
        return true;
      }
    };
    assert.ok(pid !== undefined);
    await until(gone);
  }));

Deno.test("Only what DuckDB's own memory was too small for is asked again with a folder on disk", async () => {
  const said: [string, boolean][] = [
    ["Out of Memory Error: failed to pin block of size 256.0 KiB (1.8 GiB/1.8 GiB used)", true],
    ["Out of Memory Error: Failed to allocate block of 4294967296 bytes (bad allocation)", false],
    [
      "Permission Error: File system LocalFileSystem has been disabled by configuration",
      false,
    ],
  ];
  const opened = await openDatabase(":memory:", { readOnly: false });
  assert.ok(!("obstacle" in opened));
  for (const [message, expected] of said) {
    const error = await queryError(opened.connection, "SELECT 1", new Error(message));
    assert.equal(needsDisk(error), expected, message);
    assert.equal(error.message.includes("\n"), false);
  }
  opened.close();
});

Deno.test("frames() gives what frame() made, however the pipe cuts it, and refuses what is too long", async () => {
  const values = [{ at: new Date(0), nan: NaN, list: [1, null, -Infinity] }, null, "x".repeat(999)];
  const whole = new Uint8Array(values.flatMap((value) => [...frame(value)]));
  for (const size of [1, 3, 7, whole.length]) {
    const parts = Array.from(
      { length: Math.ceil(whole.length / size) },
      (_, n) => whole.subarray(n * size, (n + 1) * size),
    );
    assert.deepEqual(await Array.fromAsync(frames(ReadableStream.from(parts), 5_000)), values);
  }
  const long = ReadableStream.from([frame("x".repeat(5_000))]);
  await assert.rejects(Array.fromAsync(frames(long, 4_999)), RangeError);
});
