import assert from "node:assert/strict";
import { journalOf } from "../../fixtures/stores/journals.ts";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import { SCHEMA_VERSION } from "../../../tracker/store/index/schema/files.ts";
import { RECORD_VERSION } from "../../../tracker/store/journal/upgrade_record.ts";
import { openStore, rebuildDatabase, type Store } from "../../../tracker/store/store.ts";
import { startScript } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords, trialId } from "../../fixtures/stores/records.ts";

async function recordAll(store: Store, records: readonly JournalRecord[]): Promise<void> {
  await Promise.all(records.map((record) => store.record(record)));
}

function sizeOf(path: string): number {
  return existsSync(path) ? Deno.statSync(path).size : 0;
}

for (
  const [what, damage] of Object.entries({
    "flipped bytes in the file": async (path: string) => {
      const bytes = await Deno.readFile(path);
      for (let at = 4096; at < bytes.length; at += 997) bytes[at] = bytes[at]! ^ 0xff;
      await Deno.writeFile(path, bytes);
    },
    "a file that is no database": (path: string) => Deno.writeTextFile(path, "x".repeat(20_000)),
    "flipped bytes in its write-ahead log": async (path: string) => {
      const bytes = await Deno.readFile(`${path}.wal`);
      for (let at = bytes.length >> 1; at < bytes.length - 64; at += 97) {
        bytes[at] = bytes[at]! ^ 0xff;
      }
      await Deno.writeFile(`${path}.wal`, bytes);
    },
    "a shorter journal": async (path: string) => {
      const journal = journalOf(dirname(path));
      const lines = (await Deno.readTextFile(journal)).split("\n");
      await Deno.writeTextFile(journal, lines.slice(0, -3).join("\n") + "\n");
    },
  })
) {
  Deno.test(`openStore() sets the database aside and makes it anew after ${what}`, () =>
    inDirectory(async (root) => {
      const used = join(root, "used");
      const first = await openStore(used, { write: true });
      await recordAll(first, studyRecords());
      await first.flush();
      // The log is emptied when it has grown long enough, which may be now: of a few rows there is
      // no byte to flip but those of the last one, which a kill may have cut as well.
      do {
        await first.record({ type: "study_resumed", at: AT, study_id: STUDY });
        await first.flush();
      } while (sizeOf(join(used, "pare.duckdb.wal")) < 8192);
      // As a killed process leaves it: the last rows are in the write-ahead log.
      await Deno.mkdir(dirname(journalOf(root)), { recursive: true });
      await Deno.copyFile(journalOf(used), journalOf(root));
      for (const name of ["pare.duckdb", "pare.duckdb.wal"]) {
        await Deno.copyFile(join(used, name), join(root, name));
      }
      await first.close();
      await damage(join(root, "pare.duckdb"));
      await using store = await openStore(root, { write: true });
      const status = await store.flush();
      assert.equal(status.caught_up, true, status.error ?? "");
      assert.match(status.set_aside ?? "none", /pare\.duckdb\.damaged-1$/);
      assert.deepEqual((await store.query("SELECT count(*) AS n FROM trials")).rows, [{ n: 4 }]);
      const names = (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name);
      assert.ok(names.some((name) => name.startsWith("pare.duckdb.damaged-1")));
    }));
}

Deno.test("A damaged journal record is reported with its trial; the others stay", () =>
  inDirectory(async (root) => {
    const first = await openStore(root, { write: true });
    await recordAll(first, studyRecords());
    await first.close();
    const text = await Deno.readTextFile(journalOf(first.paths.root));
    await Deno.writeTextFile(
      journalOf(first.paths.root),
      text.replace('"seconds":12.5', '"seconds":99.5'),
    );
    await using store = await openStore(root, { write: true });
    assert.equal((await store.journalOf(STUDY)).length, studyRecords().length - 1);
    await rebuildDatabase(store);
    await store.flush();
    const { rows } = await store.query("SELECT trial_id, problem FROM problems");
    assert.equal(rows[0]!["trial_id"], trialId(0));
    assert.match(String(rows[0]!["problem"]), /checksum does not match/);
  }));

Deno.test("openStore() refuses what a newer pare wrote, in a sentence", () =>
  inDirectory(async (root) => {
    await (await openStore(root, { write: true })).close();
    const said = JSON.parse(await Deno.readTextFile(join(root, "store.json")));
    assert.deepEqual(said, { format: RECORD_VERSION, schema: SCHEMA_VERSION });
    await Deno.writeTextFile(join(root, "store.json"), '{"format":99}');
    await assert.rejects(openStore(root, { write: true }), /newer pare wrote it \(format 99/);
    await Deno.writeTextFile(join(root, "store.json"), '{"format":1,"schema":99}');
    await assert.rejects(openStore(root, { write: true }), /newer pare wrote it \(schema 99/);
    await Deno.writeTextFile(join(root, "store.json"), '{"format":1}');
    await (await openStore(root, { write: true })).close();
    assert.deepEqual(JSON.parse(await Deno.readTextFile(join(root, "store.json"))), said);
    await assert.rejects(openStore(join(root, "nothing"), { write: false }), /nothing is recorded/);
  }));

Deno.test("openStore() refuses a database of a newer pare or a newer DuckDB and leaves it alone", () =>
  inDirectory(async (root) => {
    const store = await openStore(root, { write: true });
    await store.record(studyRecords()[0]!);
    await store.close();
    const whole = await Deno.readFile(store.paths.database);
    const bytes = whole.slice();
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const header = new DataView(bytes.buffer);
    header.setBigUint64(12, 69n, true); // storage version in the main header, then its checksum
    await Deno.writeFile(store.paths.database, bytes);
    const refusal = await DuckDBInstance.create(store.paths.database).catch((error: Error) =>
      error
    );
    assert.ok(refusal instanceof Error);
    header.setBigUint64(0, BigInt(/computed checksum (\d+)/.exec(refusal.message)![1]!), true);
    await Deno.writeFile(store.paths.database, bytes);
    for (const write of [true, false]) {
      await assert.rejects(
        openStore(root, { write }),
        /newer DuckDB wrote it \(storage version 69\); open it with that DuckDB, or move the file/,
      );
    }
    assert.deepEqual(await Deno.readFile(store.paths.database), bytes);
    await Deno.writeFile(store.paths.database, whole);
    const instance = await DuckDBInstance.create(store.paths.database);
    const connection = await instance.connect();
    await connection.run("INSERT INTO schema_migrations VALUES (99, '0099_future.sql')");
    connection.closeSync();
    instance.closeSync();
    await using writer = await openStore(root, { write: true });
    await writer.record(studyRecords()[0]!);
    const { error, caught_up } = await writer.flush();
    assert.equal(caught_up, false);
    assert.match(error ?? "", /newer pare wrote it \(schema 99/);
  }));

Deno.test("Journal.append() at the limit of a file says so, and goes on when it is raised", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    // The limit on a file's size stands in for the disk's: the same write fails in the same place.
    const script = `
      import { openStore } from ${
      JSON.stringify(import.meta.resolve("../../../tracker/store/store.ts"))
    };
      import { studyRecords } from ${
      JSON.stringify(import.meta.resolve("../../fixtures/stores/records.ts"))
    };
      const store = await openStore(${JSON.stringify(root)}, { write: true });
      store.pauseSink();
      let stored = 0;
      try {
        const alert = studyRecords().find(({ type }) => type === "alert");
        for (;;) { await store.record(alert); stored++; }
      } catch (error) { console.log(JSON.stringify({ stored, message: error.message })); }
      Deno.exit(0);`;
    const child = await startScript(directory, script, [
      "bash",
      "-c",
      'trap "" XFSZ; ulimit -f 64; exec "$@"',
      "bash",
    ]);
    const { stored, message } = JSON.parse(await child.line() ?? "{}");
    await child.kill();
    assert.match(message, /Cannot append .* as no file may be so large here .*ulimit -f/);
    await using store = await openStore(root, { write: true });
    assert.equal((await store.take(STUDY)).torn, null);
    await store.record(studyRecords().find(({ type }) => type === "alert")!);
    await store.flush();
    const { rows } = await store.query("SELECT count(*) AS n FROM alerts");
    assert.deepEqual(rows, [{ n: stored + 1 }]);
    assert.ok(stored > 2);
  }));
