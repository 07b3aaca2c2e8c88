/** The index's schema: tables and views in files of their own, and a version that knows them. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { makeSchema, SCHEMA_FILES, schemaHash } from "../../../tracker/store/index/schema.ts";
import {
  SCHEMA_HASH,
  SCHEMA_VERSION,
  TABLES,
  VIEWS,
} from "../../../tracker/store/index/schema/files.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const FOLDER = new URL("../../../tracker/store/index/schema/", import.meta.url);

/** The statements of a file: what each creates, says or does, and of which table or view. */
async function statements(file: string): Promise<string[]> {
  const text = await readFile(new URL(file, FOLDER), "utf8");
  return [...text.matchAll(/^(CREATE|COMMENT ON|INSERT|ALTER|DROP|UPDATE|DELETE)\b(.*)$/gm)]
    .map(([, verb, rest]) => {
      const of = /^ (?:TABLE |VIEW |MACRO TABLE |MACRO |COLUMN |INTO )?(\w+)/.exec(rest!)![1]!;
      return `${verb} ${of}`;
    });
}

Deno.test("A changed table or view has a schema version of its own", () => {
  assert.equal(
    SCHEMA_HASH,
    schemaHash(),
    `the schema's files changed: in schema/files.ts, SCHEMA_VERSION is one more than it was and ` +
      `SCHEMA_HASH "${schemaHash()}"`,
  );
});

Deno.test("Each file of the schema is applied, and each view is in the one file of its name", async () => {
  const files = await readdir(FOLDER, { recursive: true });
  assert.deepEqual(
    files.filter((name) => name.endsWith(".sql")).sort(),
    [...SCHEMA_FILES].sort(),
  );
  for (const view of VIEWS) {
    const [first, ...rest] = await statements(`views/${view}.sql`);
    assert.equal(first, `CREATE ${view}`);
    assert.deepEqual([...new Set(rest)], [`COMMENT ON ${view}`], view);
  }
  const made = new Map<string, string>();
  for (const table of TABLES) {
    for (const one of await statements(`tables/${table}.sql`)) {
      const [, verb, of] = /^(.*) (\w+)$/.exec(one)!;
      if (verb === "CREATE") {
        assert.equal(made.get(of!), undefined, `${of} is created twice`);
        made.set(of!, table);
      } else assert.ok(["COMMENT ON", "INSERT"].includes(verb!), `${table}.sql: ${one}`);
      assert.equal(made.get(of!), table, `${table}.sql: ${one}`);
    }
  }
});

/** Names that mean something else in one table or view; every other column means the same everywhere. */
const OWN = (
  "action_index against alpha artifact_id baseline context_tokens contribution decision depth difference effect evidence exact fidelity from_value interval_low kept_tokens kind kl kv_bytes latency_ms latency_ratio maximum mean message method metric minimum n name number outcome params parent_id part phase rank recipe recommended samples score scorer seconds seed size_bytes source study_id to_value tokens trial_id trials unit value verdict weight"
).split(" ");

Deno.test("Every column says what it means, once for its name, and otherwise only where it means otherwise", async () => {
  const { columns, own } = JSON.parse(await readFile(new URL("comments.json", FOLDER), "utf8"));
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    await makeSchema(connection);
    const found = await connection.runAndReadAll(
      "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal",
    );
    const rows = found.getRows().map((row) => row.map(String) as [string, string, string]);
    assert.ok(rows.length > 1000);
    assert.deepEqual(rows.filter(([, , comment]) => comment === "null" || comment === ""), []);
    const used = new Set(rows.flatMap(([relation, column]) => [column, `${relation}.${column}`]));
    const said = [...Object.keys(columns), ...Object.keys(own)];
    assert.deepEqual(said.filter((name) => !used.has(name)), [], "of a column that is no more");
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
  const names = Object.keys(own).map((name) => name.split(".")[1]!);
  assert.deepEqual([...new Set(names)].sort(), OWN);
  const twice = Object.entries(own).map(([name, text]) => `${name.split(".")[1]}: ${text}`);
  const all = [...twice, ...Object.entries(columns).map(([name, text]) => `${name}: ${text}`)];
  assert.deepEqual(all.filter((one, at) => all.indexOf(one) !== at), []);
  for (const file of SCHEMA_FILES) {
    assert.doesNotMatch(await readFile(new URL(file, FOLDER), "utf8"), /COMMENT ON COLUMN/, file);
  }
});

Deno.test("A view before one that it is made of is refused by name, and nothing is made", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const early = SCHEMA_FILES.filter((name) => name !== "views/trial_summary.sql");
    await assert.rejects(
      makeSchema(connection, early),
      /Table with name trial_summary does not exist.*\(schema\/views\/leaderboard_wide\.sql\)$/,
    );
    const left = await connection.runAndReadAll("SELECT table_name FROM duckdb_tables()");
    assert.deepEqual(left.getRows(), []);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});

Deno.test("An index of this version but of other files is made anew from its journal", () =>
  inDirectory(async (root) => {
    const records = studyRecords();
    const mark = async (database: string, one: number) => {
      const instance = await DuckDBInstance.create(database);
      const connection = await instance.connect();
      await connection.run("UPDATE schema_migrations SET name = 'of another branch'");
      await connection.run(`CREATE OR REPLACE VIEW failures AS SELECT ${one} AS one`);
      connection.closeSync();
      instance.closeSync();
    };
    let database: string;
    {
      await using store = await recordedStore(root, records);
      database = store.paths.database;
    }
    const madeAnew = async (one: number) => {
      await mark(database, one);
      await using store = await openStore(root, { write: true });
      const { caught_up, error } = await store.flush({ wait_ms: 60_000 });
      assert.ok(caught_up, error ?? "");
      const { rows } = await store.query(
        "SELECT version, name, (SELECT count(kind) FROM failures) IS NOT NULL AS views FROM schema_migrations",
      );
      assert.deepEqual(rows, [{ version: SCHEMA_VERSION, name: SCHEMA_HASH, views: true }]);
    };
    await madeAnew(1);
    await madeAnew(2);
    const names = [...Deno.readDirSync(root)].map(({ name }) => name);
    assert.deepEqual(names.filter((name) => /backup|damaged/.test(name)), []);
  }));
