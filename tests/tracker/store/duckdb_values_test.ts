import assert from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import { formatCsv, formatJson, formatTable } from "../../../tracker/store/query/printed_answer.ts";
import { runQuery } from "../../../tracker/store/query/run_query.ts";

/** Answers of a database in memory, in a form. */
async function asking(work: (ask: (sql: string, form: Form) => Answer) => Promise<void>) {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    await work((sql, form) => runQuery(connection, sql, { form }));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
type Form = "program" | "text" | "json";
type Answer = ReturnType<typeof runQuery>;
const printed = (answer: Awaited<Answer>) => ({ ...answer, stale: null });

/** Texts that a list, a struct or a map has to set apart from its own signs. */
const HARD = ["", " a", "a ", "null", "it's", 'a"b', "a,b", "a: b", "[x]", "{x}", "a=b", "(", "\\"]
  .map((text) => `'${text.replaceAll("'", "''")}'`);

Deno.test("every type's text is DuckDB's own, numbers aside", () =>
  asking(async (ask) => {
    const numbers = /^(U?(TINY|SMALL|BIG|HUGE)?INT|INTEGER|UINTEGER|FLOAT|DOUBLE|DECIMAL)/;
    const tables = [
      "SELECT * EXCLUDE (geometry, timestamp_tz) FROM test_all_types()",
      `SELECT [${HARD}] AS list, {'a b': ${HARD[4]}, 'it''s': 2.5::DOUBLE} AS struct,
         MAP {${HARD.map((text, i) => `${text}: ${i}::DOUBLE`)}} AS map,
         ['2020-01-01 00:00:00.5'::TIMESTAMP, 'infinity'] AS moments,
         [1e-7::DOUBLE, 1e21, -0.0, 0.1::FLOAT] AS doubles, [0.1::FLOAT, 3] AS floats,
         union_value(x := ['a']) AS either, {'n': {'m': [MAP {1: NULL}]}} AS deep`,
    ];
    for (const table of tables) {
      const { columns, rows } = await ask(table, "text");
      const texts = await ask(`SELECT COLUMNS(*)::VARCHAR FROM (${table})`, "text");
      for (const [i, row] of rows.entries()) {
        for (const { name, type } of columns) {
          const own = texts.rows[i]![name];
          if (numbers.test(type) && !type.includes("[")) {
            assert.equal(Number(row[name]), Number(own), `${name} ${type}`);
          } else if (type !== "BOOLEAN") assert.equal(row[name], own, `${name} ${type}`);
        }
      }
    }
  }));

Deno.test("no digit and no moment is lost on the way to a terminal, to CSV and to JSON", () =>
  asking(async (ask) => {
    const sql = `SELECT '2024-02-29 12:34:56.123456'::TIMESTAMP t, TIME '12:34:56.5' m,
      '\\xAAx'::BLOB b, '101'::BIT bits, 'infinity'::TIMESTAMP never, '-infinity'::DATE early,
      INTERVAL '1 month 2 days' i, 9007199254740993 big, 1234567890123456.789::DECIMAL(38, 3) d,
      0.1::FLOAT f, [TIMESTAMP '2020-01-01 00:00:00.000001'] l`;
    const row = "2024-02-29 12:34:56.123456,12:34:56.5,\\xAAx,101,infinity,-infinity," +
      `1 month 2 days,9007199254740993,1234567890123456.789,0.1,['2020-01-01 00:00:00.000001']`;
    const answer = printed(await ask(sql, "text"));
    assert.equal(formatCsv(answer).split("\n")[1], row);
    assert.match(formatTable(answer), /12:34:56\.123456 +12:34:56\.5 +\\xAAx +101 +infinity/);
    const [json] = JSON.parse(formatJson(printed(await ask(sql, "json"))));
    assert.deepEqual(json, {
      ...{ t: "2024-02-29 12:34:56.123456", m: "12:34:56.5", b: "\\xAAx", bits: "101" },
      ...{ never: "infinity", early: "-infinity", i: "1 month 2 days" },
      ...{ big: "9007199254740993", d: "1234567890123456.789", f: 0.1 },
      l: ["2020-01-01 00:00:00.000001"],
    });
  }));

Deno.test("a program gets dates where a Date holds them, else DuckDB's text", () =>
  asking(async (ask) => {
    const { rows: [row] } = await ask(
      `SELECT '2024-02-29 12:34:56.123456'::TIMESTAMP t, DATE '1969-12-31' d,
        '1969-12-31 23:59:59.999999'::TIMESTAMP early, 'infinity'::TIMESTAMPTZ never,
        MAP {'a': 1} m, {'x': [1, NULL]} s`,
      "program",
    );
    assert.deepEqual(row, {
      t: new Date("2024-02-29T12:34:56.123Z"),
      d: new Date("1969-12-31"),
      early: new Date("1969-12-31T23:59:59.999Z"),
      never: "infinity",
      m: { a: 1 },
      s: { x: [1, null] },
    });
  }));
