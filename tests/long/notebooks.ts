import assert from "node:assert/strict";
import { execa } from "execa";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import {
  cellsOf,
  emptyHome,
  execute,
  kernelFolder,
  NOTEBOOKS,
  type Output,
  textOf,
} from "../fixtures/notebook_run.ts";

const KERNEL_CELLS = fileURLToPath(new URL("../fixtures/kernel_cells.py", import.meta.url));

Deno.test("notebooks are kept without outputs and import tracker/mod.ts only", async () => {
  for await (const { name } of Deno.readDir(NOTEBOOKS)) {
    if (!name.endsWith(".ipynb")) continue;
    for (const cell of await cellsOf(join(NOTEBOOKS, name))) {
      assert.deepEqual(cell.outputs ?? [], [], `${name} keeps outputs: clear them`);
      // A plugin's text that a cell writes imports what stands in ${…}.
      const imports = textOf(cell.source).matchAll(/from\s+"([^"$]+)"/g);
      for (const [, target] of imports) assert.equal(target, "../tracker/mod.ts", name);
    }
  }
});

Deno.test("every large picture of a notebook arrives before its cell has ended", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const kernel = import.meta.resolve("../../tracker/ground/terminal/kernel.ts");
    const picture = 'shown({ "image/svg+xml": `<svg>${"x".repeat(400_000)}</svg>` });';
    const sources = [
      `import { shown } from ${JSON.stringify(kernel)};`,
      ...Array(12).fill(picture),
    ];
    const cells = sources.map((source, n) => (
      { cell_type: "code", id: `c${n}`, source, metadata: {}, outputs: [], execution_count: null }
    ));
    const metadata = { kernelspec: { name: "deno", display_name: "Deno", language: "typescript" } };
    const notebook = join(folder, "in.ipynb");
    await writeFile(
      notebook,
      JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata, cells }),
    );
    const shown = (await execute(notebook, folder)).slice(1).map(({ outputs = [] }) =>
      outputs.map(({ data }) => textOf(data?.["image/svg+xml"]).length).find((n) => n > 0)
    );
    assert.deepEqual(shown, Array(12).fill(400_011));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Runs cells in a real kernel, interrupted when they print `interrupt_at`; what each said. */
async function runCells(
  folder: string,
  cells: readonly { code: string; interrupt_at: string | null }[],
): Promise<Record<string, unknown>[]> {
  const { python } = await ensureEnvironment("checks");
  const path = join(folder, "cells.json");
  await writeFile(path, JSON.stringify(cells));
  const JUPYTER_PATH = await kernelFolder(join(folder, "jupyter"));
  const { exitCode, stdout, stderr } = await execa(python, [KERNEL_CELLS, path, "600"], {
    cwd: NOTEBOOKS,
    reject: false,
    stdin: "ignore",
    env: { JUPYTER_PATH, PARE_HOME: await emptyHome(folder), NO_COLOR: "1" },
  });
  assert.equal(exitCode, 0, stderr);
  return stdout.split("\n").map((line) => JSON.parse(line));
}

Deno.test("the stop button ends a study cleanly and never the kernel, whatever the cell does", async () => {
  const folder = await Deno.makeTempDir();
  const sleeping = `console.log("asleep"); await new Promise((done) => setTimeout(done, 500));`;
  const opened = `import { openLab } from "../tracker/mod.ts";
    const lab = await openLab();
    const study = await lab.open({ model_name: "tiny", dataset: "tiny", max_trials: 2 });`;
  const run = `const result = await study.run({ onEvent: (event) => {
      if (event.event === "phase") console.log(event.trial_id);
    } });
    console.log(result.message);
    await lab.close();`;
  try {
    const results = await runCells(folder, [
      { code: `${sleeping} console.log("awake");`, interrupt_at: "asleep" },
      { code: opened, interrupt_at: null },
      { code: run, interrupt_at: "/t00" },
      { code: `console.log("goes on");`, interrupt_at: null },
      { code: run.replace("result =", "again =").replace("result.", "again."), interrupt_at: null },
    ]);
    const said = results.map((one) => String(one["said"]));
    assert.deepEqual(results.map(({ status, alive }) => [status, alive]), [
      ["ok", true],
      ["ok", true],
      ["ok", true],
      ["ok", true],
      ["ok", true],
    ], said.join("\n"));
    assert.match(said[0]!, /asleep\nawake/);
    assert.match(said[2]!, /interrupted|cancelled/);
    assert.match(said[3]!, /goes on/);
    assert.match(said[4]!, /All 2 trials that were asked for are run/, "though its lab was closed");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** What outputs hold of one kind, such as text/html. */
function shownAs(outputs: readonly Output[], kind: string): string[] {
  return outputs.map(({ data }) => textOf(data?.[kind])).filter((text) => text !== "");
}

/** The rows of a table of HTML, by heading. */
function tableRows(html: string): Record<string, string>[] {
  const [head = [], ...body] = [...html.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell]) => cell!)
  );
  return body.map((cells) => Object.fromEntries(head.map((name, n) => [name, cells[n] ?? ""])));
}

/** The first table that has a column of this name. */
function tableWith(outputs: readonly Output[], column: string): Record<string, string>[] {
  const tables = shownAs(outputs, "text/html").map(tableRows);
  const found = tables.find(([row]) => row !== undefined && column in row);
  assert.ok(found !== undefined, `no table has a column ${column}`);
  return found;
}

/** What the last cell says in words: its numbers are finite. */
function answerOf(outputs: readonly Output[]): string {
  const answer = shownAs(outputs, "text/plain").at(-1) ?? "";
  assert.doesNotMatch(answer, /NaN|undefined|null|Infinity/);
  return answer;
}

function assertReport(outputs: readonly Output[]): void {
  const report = shownAs(outputs, "text/html").find((html) => html.includes("<iframe"));
  assert.match(report ?? "", /How it was measured/);
}

function assertFront(outputs: readonly Output[]): void {
  assert.match(shownAs(outputs, "image/svg+xml")[0] ?? "", /<svg[\s\S]*baseline/);
  assert.ok(shownAs(outputs, "image/png").length > 0, "no PNG beside the SVG");
}

/** What each notebook must have answered, by the start of its name. */
const ANSWERS: Record<string, (outputs: readonly Output[]) => void> = {
  "01": (outputs) => {
    assertFront(outputs);
    assertReport(outputs);
    assert.match(shownAs(outputs, "text/plain").join("\n"), /t02 /, "two trials were run");
  },
  "02": (outputs) => {
    assertReport(outputs);
    const rows = tableWith(outputs, "retention");
    assert.deepEqual(
      rows.map(({ task, readable_id }) => `${task} ${readable_id!.slice(0, 8)}`),
      rows.map(({ task }, n) => `${task} ${["s01-rtn-", "s02-rtn-"][n % 2]}`),
    );
    assert.equal(rows.length, 4, "two tasks, two trials");
    for (const { retention: kept, value, baseline } of rows) {
      if (Number(baseline) === 0) continue;
      assert.ok(Math.abs(Number(kept) - Number(value) / Number(baseline)) < 0.05);
    }
    for (const { gold, kept_answer, lost_answer } of tableWith(outputs, "gold")) {
      assert.ok(kept_answer === gold && lost_answer !== gold);
    }
    assert.ok(tableWith(outputs, "won").length > 0, "two bits flip no answer");
  },
  "03": (outputs) => {
    assertFront(outputs);
    assert.match(
      answerOf(outputs),
      /ended at the gate proxy_accuracy; eight bits passed [1-9] gates; .*Episode 1: /,
    );
  },
  "04": (outputs) => {
    assertFront(outputs);
    for (const { front_probability } of tableWith(outputs, "front_probability")) {
      assert.ok(Number(front_probability) >= 0 && Number(front_probability) <= 1);
    }
    assert.match(answerOf(outputs), /[1-9] of [2-9] trials are on the front/);
  },
  "05": (outputs) => {
    assert.ok(tableWith(outputs, "view_name").length > 10);
    assert.ok(tableWith(outputs, "rank").length > 0);
    assert.ok(tableWith(outputs, "difference_low").length > 0);
    assert.match(answerOf(outputs), /The shortest question: (recommended|keep the original|not)/);
  },
  "06": (outputs) => {
    assertFront(outputs);
    assert.match(answerOf(outputs), /rtn: -?\d\.\d+; gptq: -?\d\.\d+/);
  },
  "07": (outputs) => {
    assert.ok(tableWith(outputs, "rank_correlation").length > 0);
    assert.match(answerOf(outputs), /alone has [1-9]\d* % of the loss/);
  },
  "08": (outputs) => {
    assertFront(outputs);
    assert.match(
      answerOf(outputs),
      /rounding_by_chance: completed, \d.*; rtn: completed/,
    );
  },
  "09": (outputs) => {
    assertReport(outputs);
    const files = tableWith(outputs, "name").map(({ name }) => name);
    for (const name of ["pareto.png", "report.html", "report.md", "results.json"]) {
      assert.ok(files.includes(name), `${name} is not published`);
    }
    assert.match(answerOf(outputs), /[3-9] trials; [1-9]/);
  },
  "10": (outputs) => {
    const shares = tableWith(outputs, "share_kept").map(({ share_kept }) => Number(share_kept));
    assert.ok(shares.filter((share) => share < 1).length >= 8, `${shares}`);
    assert.match(answerOf(outputs), /smallest budget: [a-z0-9]+, KL \d\.\d+ with 0\.\d+ of the/);
  },
};

/** Of words that the tiny model knows, some windows long. */
const TINY_TEXT = Array.from(
  { length: 400 },
  (_, n) =>
    [
      "the red fox",
      "lives in the den",
      "a grey owl",
      "sleeps near the pond",
    ][(n * n + (n >> 2)) % 4],
)
  .join(" ");

/** All share one store, as those of a reader do: a study that one has run is there for the next. */
async function answerAll(step: Deno.TestContext, model: string, notebooks: readonly string[]) {
  const folder = await Deno.makeTempDir();
  try {
    const text = join(folder, "text.jsonl");
    await writeFile(text, JSON.stringify({ text: TINY_TEXT }) + "\n");
    const env = {
      ...{ PARE_HOME: await emptyHome(folder), PARE_NOTEBOOK_MODEL: model },
      ...(model === "tiny" ? { PARE_NOTEBOOK_TEXT: text } : {}),
    };
    for (const name of notebooks) {
      await step.step(name, async () => {
        const cells = await execute(join(NOTEBOOKS, name), folder, env);
        const outputs = cells.flatMap((cell) => cell.outputs ?? []);
        assert.deepEqual(outputs.filter((one) => one.output_type === "error"), []);
        ANSWERS[name.slice(0, 2)]!(outputs);
      });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function notebookNames(): Promise<string[]> {
  const names = [];
  for await (const { name } of Deno.readDir(NOTEBOOKS)) {
    if (name.endsWith(".ipynb")) names.push(name);
  }
  return names.sort();
}

Deno.test("every notebook answers its question in a real kernel on the tiny model", async (step) => {
  const names = await notebookNames();
  assert.deepEqual(names.map((name) => name.slice(0, 2)), Object.keys(ANSWERS).sort());
  await answerAll(step, "tiny", names);
});

/** The demo's model takes minutes: with `--all` alone, as the campaigns of faults. */
if (Deno.env.has("PARE_TEST_ALL")) {
  Deno.test("two notebooks answer their questions on the demo's model", async (step) => {
    const names = await notebookNames();
    await answerAll(step, "demo", names.filter((name) => /^0[24]/.test(name)));
  });
}
