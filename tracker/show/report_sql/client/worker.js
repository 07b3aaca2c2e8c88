/**
 * DuckDB in a worker of a report's page. `pareEngine` is what the package of DuckDB-WASM exports; it is
 * defined before this text, in the same file. The page sends `{ open: { wasm, data } }` once, then
 * `{ ask, most }` by ones; each is answered by `{ value }` or `{ error }`.
 */
/* global pareEngine */
const FILE = "study.duckdb";
/** Nothing is loaded from anywhere: the engine would ask the network for what it was built without. */
const SETTINGS = [
  "SET autoinstall_known_extensions = false",
  "SET autoload_known_extensions = false",
  "SET enable_external_access = false",
  "SET lock_configuration = true",
];

let connection;

async function open({ wasm, data }) {
  self.fetch = () =>
    Promise.resolve(new Response(wasm, { headers: { "content-type": "application/wasm" } }));
  const bundle = { mainModule: "https://engine.invalid/duckdb.wasm", mainWorker: null };
  const database = await pareEngine.createDuckDB(
    { mvp: bundle, eh: bundle },
    new pareEngine.VoidLogger(),
    pareEngine.BROWSER_RUNTIME,
  );
  await database.instantiate();
  database.registerFileBuffer(FILE, new Uint8Array(data));
  database.open({ path: FILE, accessMode: pareEngine.DuckDBAccessMode.READ_ONLY });
  connection = database.connect();
  for (const setting of SETTINGS) connection.query(setting);
}

const rowsOf = (table) => table.toArray().map((row) => [...row].map(([, value]) => value));
const namesOf = (table) => table.schema.fields.map(({ name }) => name);
const text = (value) => value === null || value === undefined ? null : String(value);

/** Column names and rows as DuckDB's own text, null where there is none; of more than `most` rows the first. */
function read(sql, most) {
  const bare = sql.trim().replace(/;+\s*$/, "");
  let columns;
  try {
    columns = namesOf(connection.query(`SELECT * FROM (\n${bare}\n) LIMIT 0`));
  } catch {
    // Its error would be of what stands around it; what is no SELECT is answered as it is.
    const table = connection.query(bare);
    const rows = rowsOf(table).map((row) => row.map(text));
    return { columns: namesOf(table), rows: rows.slice(0, most), capped: rows.length > most };
  }
  const asText = `SELECT COLUMNS(*)::VARCHAR FROM (\n${bare}\n) LIMIT ${most + 1}`;
  const rows = rowsOf(connection.query(asText)).map((row) => row.map(text));
  return { columns, rows: rows.slice(0, most), capped: rows.length > most };
}

self.addEventListener("message", async ({ data: { open: opened, ask, most } }) => {
  try {
    self.postMessage({ value: opened === undefined ? read(ask, most) : await open(opened) });
  } catch (error) {
    self.postMessage({ error: String(error?.message ?? error) });
  }
});
