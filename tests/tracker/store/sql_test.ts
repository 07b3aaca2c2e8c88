import assert from "node:assert/strict";
import { journalOf } from "../../fixtures/stores/journals.ts";
import { join } from "node:path";
import { type Direction, paretoFront } from "../../../core/front/pareto.ts";
import { UsageError } from "../../../core/mod.ts";
import { formatCsv, formatJson, formatTable } from "../../../tracker/store/query/printed_answer.ts";
import type { QueryResult } from "../../../tracker/store/query/result.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyOpened, studyRecords, trialId, trialRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

function withStore(work: (store: Store, root: string) => Promise<void>): Promise<void> {
  return inDirectory(async (root) => {
    await using store = await recordedStore(root, studyRecords());
    await work(store, root);
  });
}

Deno.test("Store.query() refuses whatever leaves the database or changes it", () =>
  withStore(async (store, root) => {
    const secret = join(root, "secret.txt");
    await Deno.writeTextFile(secret, "secret");
    const out = join(root, "out.csv");
    const attacks = [
      `SELECT * FROM read_text('${secret}')`,
      `SELECT * FROM '${secret}'`,
      `SELECT * FROM read_csv('${secret}')`,
      `SELECT * FROM read_json('${journalOf(store.paths.root)}')`,
      `SELECT * FROM glob('${root}/*')`,
      `COPY (SELECT 1) TO '${out}'`,
      `COPY trials TO '${out}'`,
      `EXPORT DATABASE '${join(root, "export")}'`,
      `ATTACH '${join(root, "other.duckdb")}'`,
      "SET enable_external_access = true",
      "SET lock_configuration = false",
      `SELECT * FROM read_blob('${store.paths.database}')`,
      "INSTALL sqlite",
      "LOAD httpfs",
      "DELETE FROM trials",
      "UPDATE studies SET stop = 'x'",
      "DROP TABLE trials",
      "CREATE TABLE x AS SELECT 1",
      "CREATE TEMP TABLE x AS SELECT 1",
      "EXPLAIN ANALYZE DELETE FROM trials",
      `EXPLAIN ANALYZE COPY (SELECT 1) TO '${out}'`,
      `SELECT 1; COPY (SELECT 1) TO '${out}'`,
      "CALL pragma_version()",
      "BEGIN",
      "PREPARE p AS SELECT 1",
      "",
    ];
    for (const sql of attacks) {
      await assert.rejects(store.query(sql), UsageError, sql);
      await assert.rejects(store.exportParquet(sql, join(root, "x.parquet")), UsageError, sql);
    }
    const names = (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => /out|export|other|parquet/.test(name)), []);
    assert.deepEqual((await store.query("SELECT count(*) AS n FROM trials")).rows, [{ n: 4 }]);
  }));

Deno.test("Store.exportParquet() cannot be led out of its wrapping by the query's text", () =>
  withStore((store) =>
    inDirectory(async (folder) => {
      const out = join(folder, "out.parquet");
      for (
        const sql of ["SELECT 1) TO '/dev/null' (FORMAT csv); --", "SELECT 1 -- x", "SELECT 1;"]
      ) {
        const attack = sql.includes(")");
        if (attack) await assert.rejects(store.exportParquet(sql, out), UsageError);
        else assert.equal(await store.exportParquet(sql, out), 1);
      }
    })
  ));

Deno.test("Store.exportParquet() writes a file that reads back with types and NaN", () =>
  withStore((store) =>
    inDirectory(async (folder) => {
      const out = join(folder, "it's.parquet");
      const sql =
        "SELECT trial_id, number, 'nan'::DOUBLE AS bad, [1, 2] AS list FROM trials WHERE number > $1";
      assert.equal(await store.exportParquet(sql, out, { params: [1] }), 2);
      const { DuckDBInstance } = await import("@duckdb/node-api");
      const instance = await DuckDBInstance.create(":memory:");
      const connection = await instance.connect();
      const reader = await connection.runAndReadAll(
        `FROM '${out.replace("'", "''")}' ORDER BY number`,
      );
      assert.deepEqual(reader.getRowsJS(), [
        [trialId(2), 2n, NaN, [1, 2]],
        [trialId(3), 3n, NaN, [1, 2]],
      ]);
      connection.closeSync();
      instance.closeSync();
      assert.deepEqual((await store.query("SELECT count(*) AS n FROM trials")).rows, [{ n: 4 }]);
    })
  ));

Deno.test("Store.query() says that the row cap cut the answer, and only then", () =>
  withStore(async (store) => {
    const capped = await store.query("SELECT * FROM range(100000)", { maxRows: 5 });
    assert.deepEqual([capped.rows.length, capped.capped], [5, true]);
    assert.match(formatTable(capped), /first 5 rows; there are more/);
    const whole = await store.query("SELECT * FROM range(5)", { maxRows: 5 });
    assert.deepEqual([whole.rows.length, whole.capped], [5, false]);
    const large = await store.query("SELECT * FROM range(5000)", { maxRows: 4999 });
    assert.deepEqual([large.rows.length, large.capped], [4999, true]);
  }));

Deno.test("Store.query() stops after its time limit and answers the next query", () =>
  withStore(async (store) => {
    const endless = "SELECT count(*) FROM range(1000000000) a, range(1000) b";
    await assert.rejects(
      store.query(endless, { timeoutMs: 200 }),
      /Cannot finish the query in 0.2 s/,
    );
    assert.deepEqual((await store.query("SELECT 1 AS one")).rows, [{ one: 1 }]);
  }));

Deno.test("Store.query() binds parameters by place and by name", () =>
  withStore(async (store) => {
    const hostile = "'; DROP TABLE trials; --";
    const { rows } = await store.query("SELECT $1 AS a, $2 + 1 AS b", { params: [hostile, 2] });
    assert.deepEqual(rows, [{ a: hostile, b: 3 }]);
    const named = await store.query("SELECT $x AS x, $y AS y", { params: { x: null, y: true } });
    assert.deepEqual(named.rows, [{ x: null, y: true }]);
    await assert.rejects(
      store.query("SELECT $1 AS a"),
      /parameters are \$1: values were given for none/,
    );
    await assert.rejects(store.query("SELECT 1", { maxRows: 0 }), /maxRows must be/);
  }));

Deno.test("Store.query() explains a wrong name or a wrong word", () =>
  withStore(async (store) => {
    await assert.rejects(store.query("SELECT *\nFROM trialz"), (error: Error) => {
      assert.match(error.message, /at line 2, column 6: Unknown table or view "trialz"/);
      assert.match(
        error.message,
        /Did you mean "trials"(, "\w+"){0,2}\? SHOW TABLES lists all \d+/,
      );
      assert.doesNotMatch(
        error.message,
        /measurements/,
        "ninety names hide the one that was meant",
      );
      return error instanceof UsageError;
    });
    for (const name of ["acuracy", "l.acuracy"]) {
      await assert.rejects(
        store.query(`SELECT 1, ${name} FROM leaderboard AS l`),
        /at line 1, column 11: Unknown column "acuracy"\. Did you mean "accuracy"\?/,
      );
    }
    await assert.rejects(
      store.query("SELECT trial_idd FROM leaderboard_wide"),
      /Did you mean "trial_id".*\? DESCRIBE leaderboard_wide lists all \d+/,
    );
    const [shown] = (await store.query("SHOW TABLES")).rows;
    assert.equal(typeof shown?.["name"], "string", "what is advised works");
    assert.ok((await store.query("DESCRIBE leaderboard_wide")).rows.length > 12);
    await assert.rejects(
      store.query("SELECT medain(value) FROM measurements"),
      /at line 1, column 8: [^]*Did you mean "median"/,
    );
    await assert.rejects(
      store.query("SELEC 1"),
      /at line 1, column 1: .*syntax error at or near "SELEC"[^]*SHOW TABLES lists tables and views/,
    );
  }));

Deno.test("Store.query() gives plain values: safe integers, dates, lists, structs, large integers", () =>
  withStore(async (store) => {
    const { rows, columns } = await store.query(
      `SELECT 1::BIGINT AS i, 9007199254740993 AS big, 1.5::DECIMAL(4, 2) AS d, 'inf'::DOUBLE AS inf,
         TIMESTAMP '2026-03-01 12:00:00' AS at, [1, NULL] AS list, {'a': 1} AS s, 1 AS i`,
    );
    assert.deepEqual(rows, [{
      i: 1,
      big: "9007199254740993",
      d: 1.5,
      inf: Infinity,
      at: new Date("2026-03-01T12:00:00Z"),
      list: [1, null],
      s: { a: 1 },
      "i:1": 1,
    }]);
    assert.equal(columns[4]!.type, "TIMESTAMP");
  }));

Deno.test("The views have a comment each", () =>
  withStore(async (store) => {
    const { rows } = await store.query(
      "SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL",
    );
    assert.deepEqual(rows, []);
    for (
      const view of ["trial_summary", "leaderboard", "pareto", "retention", "failures", "lineage"]
    ) {
      await store.query(`SELECT * FROM ${view}`);
    }
  }));

Deno.test("The view pareto has the same members as the core's front, ties and all", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    let state = 7;
    const random = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
    const directions: Direction[] = ["maximize", "minimize", "minimize"];
    const expected: string[] = [];
    for (let study = 0; study < 8; study++) {
      const study_id = `random-${study}`;
      const grid = (n: number): number => Math.floor(random() * n) + 1;
      const trials = Array.from({ length: 12 }, (_, number) => ({
        study_id,
        number,
        accuracy: grid(4) / 8,
        latency_ms: grid(4),
        size_bytes: grid(4) * 1000,
      }));
      const points = trials.map((one) => [one.accuracy, one.latency_ms, one.size_bytes]);
      for (const i of paretoFront(points, directions)) expected.push(trialId(i, study_id));
      await Promise.all([studyOpened(study_id), ...trials.flatMap(trialRecords)].map(store.record));
    }
    await store.flush();
    const { rows } = await store.query(
      "SELECT trial_id FROM pareto WHERE rank = 0 ORDER BY study_id, number",
    );
    assert.deepEqual(rows.map((row) => row["trial_id"]), expected);
  }));

const RESULT: QueryResult = {
  columns: [
    { name: "name", type: "VARCHAR" },
    { name: "value", type: "DOUBLE" },
    { name: "at", type: "TIMESTAMP" },
  ],
  rows: [
    { name: 'a "b", c', value: 0.1 + 0.2, at: new Date("2026-03-01T12:00:00.500Z") },
    { name: "", value: NaN, at: null },
    { name: null, value: -Infinity, at: null },
    { name: "tab\tand\u001b[31m red", value: 12345678, at: null },
  ],
  capped: false,
  stale: null,
};

Deno.test("formatTable() aligns numbers to the right and lets no control character through", () => {
  assert.equal(
    formatTable(RESULT),
    `name                  value  at
────────────────  ─────────  ───────────────────
a "b", c                0.3  2026-03-01 12:00:00
                        NaN
                  -Infinity
tab and [31m red   12345678
(4 rows)
`,
  );
});

Deno.test("formatCsv() quotes what must be quoted and keeps every digit", () => {
  assert.equal(
    formatCsv(RESULT),
    'name,value,at\n"a ""b"", c",0.30000000000000004,2026-03-01T12:00:00.500Z\n' +
      '"",NaN,\n,-Infinity,\ntab\tand\u001b[31m red,12345678,\n',
  );
});

Deno.test("formatJson() is JSON, with NaN and infinities as texts", () => {
  const rows = JSON.parse(formatJson(RESULT)) as Record<string, unknown>[];
  assert.deepEqual(rows.map((row) => row["value"]), [0.1 + 0.2, "NaN", "-Infinity", 12345678]);
  assert.equal(rows[0]!["at"], "2026-03-01T12:00:00.500Z");
  assert.deepEqual(JSON.parse(formatJson({ ...RESULT, rows: [] })), []);
});
