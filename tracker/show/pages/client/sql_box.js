/**
 * The box for SQL, see ../sql_html.ts for what it holds. On the board its form asks the board. In a report
 * DuckDB answers, in a worker over the study's data, all of it from scripts beside the page, which are
 * loaded when the box is opened. Nothing is fetched; without them a sentence says what to do.
 */
import { bringTables } from "./sort.js";
import { tablesHtml } from "./sql_tables.js";
import { tableHtml } from "./table.js";

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

/** Rows of an answer, which come as text. */
function tableOf(names, rows, caption, sortable) {
  const place = make("div", null);
  const columns = names.map((heading, at) => ({ heading, cell: (row) => row[at] ?? "NULL" }));
  place.innerHTML = tableHtml(columns, rows, { caption, unseen: true, sortable });
  bringTables(place);
  return place;
}

/** An answer below the box; what is long is folded. */
function showAnswer(place, { columns, rows, capped }) {
  const said = `${rows.length} row${rows.length === 1 ? "" : "s"}` +
    (capped ? `, the first of more` : "");
  const whole = rows.length <= OPEN; // a part of an answer cannot be sorted
  place.replaceChildren(
    make("p", said, { role: "status" }),
    tableOf(columns, rows.slice(0, OPEN), "Answer", whole),
  );
  if (whole) return;
  const fold = make("details", null);
  fold.append(make("summary", `${rows.length - OPEN} more rows`));
  fold.append(tableOf(columns, rows.slice(OPEN), "The rest of the answer", false));
  place.append(fold);
}

const TABLES = `SELECT t.table_name, t.comment, c.column_name, c.data_type, c.comment
FROM duckdb_tables() t JOIN duckdb_columns() c USING (database_name, table_name)
WHERE NOT t.internal ORDER BY t.estimated_size = 0, t.table_name, c.column_index`;

/** Each table with its comment, and its columns below. */
async function listTables(fold, engine) {
  const { rows } = await engine.ask(TABLES, 100_000);
  const told = [...Map.groupBy(rows, ([name]) => name)].map(([name, columns]) => ({
    ...{ name, comment: columns[0][1] },
    columns: columns.map(([, , name, type, comment]) => ({ name, type, comment })),
  }));
  fold.querySelector("div").innerHTML = tablesHtml(told);
  fold.hidden = false;
}

const SAVED = "pare.questions";

/** Questions that this browser keeps. */
function readSaved() {
  try {
    const kept = JSON.parse(localStorage.getItem(SAVED) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** What every box does: a question that is chosen stands in it, and both keys run it. */
function bindForm(form) {
  const { sql, save, remove } = form.elements;
  const choice = form.querySelector("[data-pare-question]");
  choice.addEventListener("change", () => {
    if (choice.value !== "") sql.value = choice.value;
    if (remove !== undefined) remove.hidden = !readSaved().includes(choice.value);
  });
  sql.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  if (save === undefined) return;
  const saved = make("optgroup", null, { label: "Saved in this browser" });
  const write = (questions) => {
    localStorage.setItem(SAVED, JSON.stringify(questions));
    show();
  };
  const show = () => {
    const kept = readSaved();
    saved.replaceChildren(
      ...kept.map((text) =>
        make("option", text.replace(/\s+/g, " ").slice(0, 90), { value: text })
      ),
    );
    if (kept.length === 0) saved.remove();
    else choice.append(saved);
    remove.hidden = !kept.includes(choice.value);
  };
  save.hidden = false;
  save.addEventListener("click", () => {
    const text = sql.value.trim();
    if (text === "") return;
    write([...new Set([...readSaved(), text])]);
    choice.value = text;
    remove.hidden = false;
  });
  remove.addEventListener("click", () => {
    write(readSaved().filter((one) => one !== choice.value));
    choice.value = "";
    remove.hidden = true;
  });
  show();
}

function bindEngine(box, { folder }) {
  const [status, form, answer, tables] = ["-status", "", "-answer", "-tables"].map((name) =>
    box.querySelector(name === "" ? "form" : `[data-pare-sql${name}]`)
  );
  const { sql, stop } = form.elements;
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
      showAnswer(answer, await (await begin()).ask(sql.value));
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
  stop.addEventListener("click", () => {
    engine?.stop();
    engine = null;
    answer.replaceChildren(make("p", "Stopped.", { role: "status" }));
    status.textContent = "";
    [run.disabled, stop.disabled] = [false, true];
  });
  void open();
}

for (const form of document.querySelectorAll("[data-pare-sql-form]")) bindForm(form);
const box = document.querySelector("[data-pare-sql]");
const told = document.getElementById("pare-sql");
if (box !== null && told !== null) bindEngine(box, JSON.parse(told.textContent));
