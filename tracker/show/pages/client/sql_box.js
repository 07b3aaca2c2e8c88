/**
 * The SQL box of a report: DuckDB in a worker over the study's data, all of it from scripts beside the
 * page, which are loaded when the box is opened. Nothing is fetched; without them a sentence says what
 * to do. A page inlines this as `<script type="module">`, see ../sql_html.ts for what it holds.
 */

/** Rows of an answer: those shown, and those that are below a fold. */
const MOST = 10_000;
const OPEN = 50;

const make = (name, text, of = {}) => {
  const element = document.createElement(name);
  if (text !== null) element.textContent = text;
  for (const [key, value] of Object.entries(of)) element.setAttribute(key, value);
  return element;
};

/** The bytes that a script of the folder hands over, unpacked. */
function load(folder, name) {
  return new Promise((resolve, reject) => {
    const script = make("script", null, { src: `${folder}/${name}.js` });
    let pieces = null;
    globalThis.pareSql = (_, given) => pieces = given;
    script.addEventListener("error", () => reject(new Error("missing")));
    script.addEventListener("load", () => {
      script.remove();
      if (pieces === null) return reject(new Error("missing"));
      const parts = pieces.map((text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
      const unpacked = new Blob(parts).stream().pipeThrough(new DecompressionStream("gzip"));
      resolve(new Response(unpacked).arrayBuffer());
    });
    document.head.append(script);
  });
}

/** A worker that has the study open; `ask` is answered by one at a time. */
async function start({ worker, engine, data }) {
  const address = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
  const at = new Worker(address);
  const post = (message, transfer = []) =>
    new Promise((resolve, reject) => {
      at.onmessage = ({ data: { value, error } }) =>
        error === undefined ? resolve(value) : reject(new Error(error));
      at.onerror = (event) => reject(new Error(event.message || "The engine did not start."));
      at.postMessage(message, transfer);
    });
  const [wasm, study] = [engine.slice(0), data.slice(0)];
  await post({ open: { wasm, data: study } }, [wasm, study]);
  URL.revokeObjectURL(address);
  return { ask: (ask, most = MOST) => post({ ask, most }), stop: () => at.terminate() };
}

function tableOf(columns, rows, caption) {
  const scroll = make("div", null, {
    class: "scroll",
    tabindex: "0",
    role: "group",
    "aria-label": caption,
  });
  const table = make("table", null);
  const head = make("tr", null);
  head.append(...columns.map((name) => make("th", name, { scope: "col" })));
  const body = make("tbody", null);
  body.append(...rows.map((row) => {
    const line = make("tr", null);
    line.append(...row.map((cell) => make("td", cell ?? "NULL")));
    return line;
  }));
  const top = make("thead", null);
  top.append(head);
  table.append(top, body);
  scroll.append(table);
  return scroll;
}

/** An answer below the box; what is long is folded. */
function show(place, { columns, rows, capped }) {
  const said = `${rows.length} row${rows.length === 1 ? "" : "s"}` +
    (capped ? `, the first of more` : "");
  place.replaceChildren(
    make("p", said, { role: "status" }),
    tableOf(columns, rows.slice(0, OPEN), "Answer"),
  );
  if (rows.length <= OPEN) return;
  const fold = make("details", null);
  fold.append(make("summary", `${rows.length - OPEN} more rows`));
  fold.append(tableOf(columns, rows.slice(OPEN), "The rest of the answer"));
  place.append(fold);
}

const TABLES = `SELECT t.table_name, t.comment, c.column_name, c.data_type, c.comment
FROM duckdb_tables() t JOIN duckdb_columns() c USING (database_name, table_name)
WHERE NOT t.internal ORDER BY t.estimated_size = 0, t.table_name, c.column_index`;

/** Each table with its comment, and its columns below. */
async function listTables(fold, engine) {
  const { rows } = await engine.ask(TABLES, 100_000);
  const blocks = [...Map.groupBy(rows, ([name]) => name)].map(([name, columns]) => {
    const one = make("details", null);
    const summary = make("summary", null);
    summary.append(make("code", name), `: ${columns[0][1] ?? ""}`);
    one.append(
      summary,
      tableOf(["column", "type", "what it is"], columns.map((row) => row.slice(2)), name),
    );
    return one;
  });
  fold.querySelector("div").replaceChildren(...blocks);
  fold.hidden = false;
}

function bind(box, { folder, questions }) {
  const [status, form, answer, tables] = ["-status", "", "-answer", "-tables"].map((name) =>
    box.querySelector(name === "" ? "form" : `[data-pare-sql${name}]`)
  );
  const { sql, stop, question } = form.elements;
  const run = form.querySelector("[type=submit]");
  let files = null;
  let engine = null;
  const begin = async () => {
    if (files === null) {
      const loaded = {};
      // One after the other, as each hands its bytes to the same function.
      for (const name of ["worker", "engine", "data"]) loaded[name] = await load(folder, name);
      files = loaded;
    }
    engine ??= await start(files);
    return engine;
  };
  const open = async () => {
    if (!box.open || box.dataset.begun !== undefined) return;
    box.dataset.begun = "";
    status.textContent = "Opening DuckDB …";
    try {
      await listTables(tables, await begin());
      status.textContent = "";
      form.hidden = false;
      sql.focus();
    } catch (error) {
      delete box.dataset.begun;
      const missing = error.message === "missing";
      if (missing) document.querySelector("[data-pare-sql-without]").hidden = false;
      status.textContent = missing
        ? `The box needs the folder ${folder}/ beside this page, and it is not there.`
        : `The engine did not start: ${error.message}`;
    }
  };
  const ask = async () => {
    if (run.disabled || sql.value.trim() === "") return;
    [run.disabled, stop.disabled] = [true, false];
    status.textContent = "Running …";
    try {
      show(answer, await (await begin()).ask(sql.value));
    } catch (error) {
      answer.replaceChildren(make("p", error.message, { class: "wrong", role: "alert" }));
    }
    status.textContent = "";
    [run.disabled, stop.disabled] = [false, true];
  };
  box.addEventListener("toggle", open);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void ask();
  });
  sql.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void ask();
  });
  stop.addEventListener("click", () => {
    engine?.stop();
    engine = null;
    answer.replaceChildren(make("p", "Stopped.", { role: "status" }));
    status.textContent = "";
    [run.disabled, stop.disabled] = [false, true];
  });
  question.addEventListener("change", () => {
    if (question.value !== "") sql.value = questions[Number(question.value)].sql;
  });
  void open();
}

const box = document.querySelector("[data-pare-sql]");
const told = document.getElementById("pare-sql");
if (box !== null && told !== null) bind(box, JSON.parse(told.textContent));
