import assert from "node:assert/strict";
import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { parseParams } from "../../../tracker/commands/input/sql_input.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { watch } from "../../../tracker/show/terminal/watch.ts";
import { pareWords, runPare, startProgram } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";

async function recorded(root: string): Promise<void> {
  await using store = await openStore(root, { write: true });
  await Promise.all(studyRecords().map((record) => store.record(record)));
}

Deno.test("pare sql takes a statement, a file or standard input, with values by name", () =>
  inDirectory(async (root) => {
    await recorded(root);
    const store = ["--store", root, "--format", "csv"];
    const sql = "SELECT number, state FROM trials WHERE number >= $least ORDER BY number";
    const expected = "number,state\n2,completed\n3,completed";
    const file = join(root, "trials.sql");
    await Deno.writeTextFile(file, `-- which trials\n${sql};\n`);
    const answers = await Promise.all([
      runPare(["sql", sql, "--param", "least=2", ...store]),
      runPare(["sql", file, "--param", "$least=2", ...store]),
      runPare(["sql", "-", "--param", "least=2", ...store], {}, sql),
      runPare(["sql", sql, ...store]),
      runPare(["sql", join(root, "other.sql"), ...store]),
    ]);
    assert.deepEqual(answers.map(({ stdout }) => stdout), [expected, expected, expected, "", ""]);
    assert.deepEqual(answers.map(({ exitCode }) => exitCode), [0, 0, 0, 2, 2]);
    assert.match(
      answers[3]!.stderr,
      /^pare: .*parameters are \$least: values were given for none; give .* --param least=3$/m,
    );
    assert.match(answers[4]!.stderr, /^pare: Cannot read the query in .*other\.sql/);
  }));

Deno.test("pare sql says on standard error that it cut the rows, in every form", () =>
  inDirectory(async (root) => {
    await recorded(root);
    const sql = "SELECT number FROM trials ORDER BY number";
    for (const format of ["table", "csv", "json"]) {
      const cut = await runPare([
        "sql",
        sql,
        "--store",
        root,
        "--format",
        format,
        "--max-rows",
        "2",
      ]);
      assert.equal(cut.exitCode, 0);
      assert.equal(cut.stderr, "cut at 2 rows: there are more; raise --max-rows", format);
    }
    const out = `${root}.parquet`;
    const parquet = ["sql", sql, "--store", root, "--format", "parquet", "--output", out];
    assert.match((await runPare([...parquet, "--max-rows", "2"])).stderr, /write LIMIT/);
    assert.equal((await runPare(parquet)).stderr, `4 rows in ${out}`);
    await Deno.remove(out);
    const long = "SELECT count(*) FROM range(1000000000) a, range(1000) b";
    const stopped = await runPare(["sql", long, "--store", root, "--timeout", "0.3s"]);
    assert.equal(stopped.exitCode, 2);
    assert.match(stopped.stderr, /Cannot finish the query in 0.3 s/);
  }));

Deno.test("pare sql --watch draws again and ends cleanly on Ctrl-C", () =>
  inDirectory(async (root) => {
    await recorded(root);
    const words = ["sql", "SELECT 42 AS n", "--store", root, "--watch", "0.2"];
    const watched = startProgram(pareWords(...words));
    let seen = "";
    for (let line = await watched.line(); line !== null; line = await watched.line()) {
      seen += `${line}\n`;
      if (seen.match(/^ *42$/gm)?.length === 2 && line.trim() === "42") watched.signal("SIGINT");
    }
    assert.deepEqual(await watched.exited, { code: 0, signal: null });
    assert.equal(watched.last_words, "");
    assert.match(seen, /UTC, every 0\.2 s; Ctrl-C ends/);
  }));

Deno.test("watch() shows a later failure in the answer's place and goes on", async () => {
  const stop = new AbortController();
  let drawn = "";
  let asked = 0;
  const ask = () => {
    asked++;
    if (asked === 2) return Promise.reject(new Error("held"));
    if (asked === 3) stop.abort();
    return Promise.resolve(`answer ${asked}\n`);
  };
  const screen = { terminal: true, write: (text: string) => void (drawn += text) };
  await watch(ask, { seconds: 0.01, screen, signal: stop.signal });
  assert.deepEqual(drawn.match(/answer \d|held/g), ["answer 1", "held"]);
  assert.equal(drawn.split("\x1b[2J").length, 3, "the terminal is cleared before each");
  await assert.rejects(
    watch(() => Promise.reject(new Error("first")), {
      seconds: 1,
      screen,
      signal: new AbortController().signal,
    }),
    /first/,
  );
});

Deno.test("parseParams() reads numbers, words and quoted texts, and refuses the rest", () => {
  assert.deepEqual(parseParams(["a=1", "b=-2.5e3", "c=x=y", "d='1'", "e=null", "f=true", "g="]), {
    a: 1,
    b: -2500,
    c: "x=y",
    d: "1",
    e: null,
    f: true,
    g: "",
  });
  assert.throws(() => parseParams(["a"]), UsageError);
  assert.throws(() => parseParams(["a=1", "$a=2"]), /twice/);
});
