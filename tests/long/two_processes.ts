import assert from "node:assert/strict";
import { join } from "node:path";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { openLab } from "../../tracker/mod.ts";
import { openLabStore } from "../../tracker/lab/lab_store.ts";
import type { QueryResult } from "../../tracker/store/query/result.ts";
import { openStore, type Store } from "../../tracker/store/store.ts";
import { runPare, startProgram, startScript } from "../fixtures/programs.ts";
import {
  databaseHolder,
  inDirectory,
  LEAST_QUERIES,
  oneStudyWriter,
  PATIENCE_SECONDS,
  timedReader,
} from "../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../fixtures/stores/records.ts";
import { recordedStore } from "../fixtures/stores/recorded.ts";

const SECONDS = 8;

/** What the reading child printed last: its queries, the slowest one, rows seen, errors met. */
interface Reading {
  queries: number;
  slowest_ms: number;
  rows: number;
  errors: string[];
}

/** The answer when everything that was left behind is taken over: a reader does it in turns. */
async function whole(store: Store, sql: string): Promise<QueryResult> {
  for (let turn = 0;; turn++) {
    const answer = await store.query(sql);
    if (answer.stale === null || turn === 100) return answer;
  }
}

Deno.test("a study writes while a notebook and another process ask every 50 ms: none fails", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const writer = await startScript(directory, oneStudyWriter(root));
    let recorded = Number(await writer.line());
    const drained = (async () => {
      for (let line = await writer.line(); line !== null; line = await writer.line()) {
        recorded = Number(line);
      }
    })();
    const reader = await startScript(directory, timedReader(root, SECONDS));
    // A lab opens beside the writer: it reads, as a notebook does.
    await using lab = await openLab({ store: root });
    await lab.sql`SELECT 1 AS warm`; // the worker's start is not the store's wait
    const own = { queries: 0, slowest: 0, before: -1 };
    const until = performance.now() + SECONDS * 1000;
    const last = until + PATIENCE_SECONDS * 1000;
    while (performance.now() < (own.queries < LEAST_QUERIES ? last : until)) {
      const started = performance.now();
      const [row] = await lab.sql`SELECT count(*) AS n FROM studies WHERE seed >= ${0}`;
      own.slowest = Math.max(own.slowest, performance.now() - started);
      own.queries++;
      assert.ok(Number(row!["n"]) >= own.before, "rows never go");
      own.before = Number(row!["n"]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const seen = JSON.parse(await reader.line() ?? "null") as Reading;
    await reader.kill();
    await writer.kill();
    await drained;
    console.error(
      `${seen.queries} + ${own.queries} queries beside ${recorded} records; slowest ` +
        `${seen.slowest_ms.toFixed(0)} and ${own.slowest.toFixed(0)} ms`,
    );
    assert.deepEqual(seen.errors, []);
    assert.ok(Math.min(seen.queries, own.queries) >= LEAST_QUERIES, "readers were not held up");
    assert.ok(seen.rows > 0 && own.before > 0);
    await using after = await openStore(root, { write: false });
    const { rows } = await whole(after, "SELECT count(*) AS n FROM events");
    assert.ok(Number(rows[0]!["n"]) > recorded, "everything acknowledged is there");
  }));

Deno.test("a study that another process writes is refused in one sentence that names it, another is not", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const writer = await startScript(directory, oneStudyWriter(root));
    try {
      await writer.line();
      await using second = openLabStore(root);
      const end = () => Promise.resolve();
      await assert.rejects(
        second.use({ study_id: STUDY, end }),
        new RegExp(
          `Cannot write the study ${STUDY} in the store .* as process ${writer.pid} \\(.*deno.*writing`,
        ),
      );
      await using beside = await second.use({ study_id: "beside", end });
      for (const record of studyRecords("beside")) await beside.store.record(record);
      // Reading goes on after the refusal.
      assert.notEqual(await second.current(), null);
    } finally {
      await writer.kill();
    }
  }));

Deno.test("a lab's studies share the store while they run, and give it back after the last", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    await using lab = openLabStore(root);
    assert.equal(await lab.current(), null);
    const first = await lab.use();
    const second = await lab.use();
    assert.equal(first.store, second.store);
    for (const record of studyRecords("a")) await first.store.record(record);
    assert.equal((await (await lab.current())!.studies()).length, 1);
    await first[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    for (const record of studyRecords("b")) await second.store.record(record);
    await second[Symbol.asyncDispose]();
    assert.equal((await (await lab.current())!.studies()).length, 2);
    await using other = await openStore(root, { write: true, wait_ms: 0 });
    assert.equal((await other.studies()).length, 2);
  }));

Deno.test("what a dead writer left is asked for while a reader holds the file: answered, and said", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const writer = await recordedStore(root, studyRecords("a"));
    const database = writer.paths.database;
    await writer.close();
    const journal = await openStore(root, { write: true });
    using _quiet = journal.pauseSink();
    const holder = await startScript(directory, databaseHolder(database, "READ_ONLY"));
    assert.equal(await holder.line(), "open");
    for (const record of studyRecords("b")) await journal.record(record);
    await journal.close(); // its last flush cannot get the file
    await using reader = await openStore(root, { write: false });
    const started = performance.now();
    const held = await reader.query("SELECT count(*) AS n FROM studies");
    assert.ok(performance.now() - started < 3_000, "the answer does not wait for the holder");
    assert.deepEqual(held.rows, [{ n: 1 }]);
    assert.match(held.stale ?? "", new RegExp(`process ${holder.pid} `));
    const status = await reader.status();
    assert.equal(status.caught_up, false);
    await holder.kill();
    const free = await whole(reader, "SELECT count(*) AS n FROM studies");
    assert.deepEqual([free.rows, free.stale], [[{ n: 2 }], null]);
  }));

Deno.test("a Python shell left open on the database delays the index, is named by pare status, loses nothing", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    await using store = await recordedStore(root, studyRecords("a"));
    const { python } = await ensureEnvironment("readers_duckdb1");
    // The store may have the file for a moment more: a person would ask again too.
    const script = `import duckdb, sys, time
for _ in range(200):
    try:
        held = duckdb.connect(sys.argv[1])
        break
    except duckdb.IOException as error:
        print(error, file=sys.stderr)
        time.sleep(0.1)
print("open", flush=True)
time.sleep(600)`;
    const shell = startProgram([python, "-c", script, store.paths.database]);
    try {
      assert.equal(await shell.line(), "open");
      const started = performance.now();
      for (const record of studyRecords("b")) await store.record(record);
      assert.ok(performance.now() - started < 5_000, "recording waits for nobody");
      assert.equal((await store.flush({ wait_ms: 50 })).held_by?.pid, shell.pid);
      const status = await runPare(["status", "--store", root]);
      assert.match(status.stdout, new RegExp(`open in +process ${shell.pid} \\(.*python.*duckdb`));
    } finally {
      await shell.kill();
    }
    assert.equal((await store.flush()).caught_up, true);
    const { rows } = await store.query("SELECT count(*) AS n FROM studies");
    assert.deepEqual(rows, [{ n: 2 }]);
  }));
