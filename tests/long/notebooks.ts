import assert from "node:assert/strict";
import { execa } from "execa";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { pareHome } from "../../python-backends/home.ts";
import { writeKernelSpec } from "../../tracker/jupyter/kernel_spec.ts";

const NOTEBOOKS = fileURLToPath(new URL("../../notebooks/", import.meta.url));
const EXECUTE = fileURLToPath(new URL("../fixtures/execute_notebook.py", import.meta.url));
const KERNEL_CELLS = fileURLToPath(new URL("../fixtures/kernel_cells.py", import.meta.url));
const CELL_SECONDS = 900; // a busy machine makes a study five times as long

interface Output {
  output_type: string;
  data?: Record<string, string | string[]>;
  text?: string | string[];
}

interface Cell {
  cell_type: string;
  source: string | string[];
  outputs?: Output[];
}

async function cellsOf(path: string): Promise<Cell[]> {
  return (JSON.parse(await readFile(path, "utf8")) as { cells: Cell[] }).cells;
}

function textOf(text: string | string[] | undefined): string {
  return Array.isArray(text) ? text.join("") : text ?? "";
}

/** The kernel of `deno task notebook`, found through JUPYTER_PATH. */
async function kernelFolder(folder: string): Promise<string> {
  await writeKernelSpec(folder);
  return folder;
}

Deno.test("notebooks are kept without outputs and import tracker/mod.ts only", async () => {
  for await (const { name } of Deno.readDir(NOTEBOOKS)) {
    if (!name.endsWith(".ipynb")) continue;
    for (const cell of await cellsOf(join(NOTEBOOKS, name))) {
      assert.deepEqual(cell.outputs ?? [], [], `${name} keeps outputs: clear them`);
      const imports = textOf(cell.source).matchAll(/from\s+"([^"]+)"/g);
      for (const [, target] of imports) assert.equal(target, "../tracker/mod.ts", name);
    }
  }
});

/** Runs a notebook in a real kernel; its cells with their outputs. */
async function execute(
  notebook: string,
  folder: string,
  env: Record<string, string> = {},
): Promise<Cell[]> {
  const { python } = await ensureEnvironment("checks");
  const out = join(folder, "out.ipynb");
  const run = await execa(python, [EXECUTE, notebook, out, String(CELL_SECONDS)], {
    reject: false,
    all: true,
    stdin: "ignore",
    env: { JUPYTER_PATH: await kernelFolder(join(folder, "jupyter")), NO_COLOR: "1", ...env },
  });
  assert.equal(run.exitCode, 0, run.all);
  return await cellsOf(out);
}

Deno.test("every large picture of a notebook arrives before its cell has ended", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const kernel = import.meta.resolve("../../tracker/terminal/kernel.ts");
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

/** A PARE_HOME of its own, whose environments and models are those that are there already. */
async function emptyHome(folder: string): Promise<string> {
  const home = join(folder, "home");
  await mkdir(home);
  for (const shared of ["envs", "cache"]) {
    await mkdir(join(pareHome(), shared), { recursive: true });
    await Deno.symlink(join(pareHome(), shared), join(home, shared));
  }
  return home;
}

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
    ]);
    const said = results.map((one) => String(one["said"]));
    assert.deepEqual(results.map(({ status, alive }) => [status, alive]), [
      ["ok", true],
      ["ok", true],
      ["ok", true],
      ["ok", true],
    ], said.join("\n"));
    assert.match(said[0]!, /asleep\nawake/);
    assert.match(said[2]!, /interrupted|cancelled/);
    assert.match(said[3]!, /goes on/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Every output of a notebook that runs on the tiny model, in a store of its own. */
async function outputsOnTiny(notebook: string): Promise<Output[]> {
  const folder = await Deno.makeTempDir();
  try {
    const home = await emptyHome(folder);
    const cells = await execute(join(NOTEBOOKS, notebook), folder, {
      PARE_HOME: home,
      PARE_NOTEBOOK_MODEL: "tiny",
    });
    return cells.flatMap((cell) => cell.outputs ?? []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What outputs hold of one kind, such as text/html. */
function shownAs(outputs: readonly Output[], kind: string): string[] {
  return outputs.map(({ data }) => textOf(data?.[kind])).filter((text) => text !== "");
}

Deno.test("01_first_study runs in a real kernel on the tiny model and draws its front", async () => {
  const outputs = await outputsOnTiny("01_first_study.ipynb");
  const [svg] = shownAs(outputs, "image/svg+xml");
  assert.match(svg ?? "", /^<svg[\s\S]*baseline<\/text>/);
  const report = shownAs(outputs, "text/html").find((html) => html.includes("<iframe"));
  assert.match(report ?? "", /How it was measured/);
  const table = shownAs(outputs, "text/plain").join("\n");
  assert.match(table, /t02 /, "two trials were run");
  assert.match(table, /t01 .*rtn 2-bit.*stopped/, "a gate stopped the first recipe by hand");
  assert.match(table, /t02 .*rtn 8-bit/, "the second was run to its end");
  const decisions = table.split("\n").filter((line) => line.startsWith("["))
    .map((line) => JSON.parse(line) as Record<string, unknown>[])
    .find(([row]) => row !== undefined && "decision" in row)!;
  assert.deepEqual(decisions.map(({ gate, decision, stage }) => [gate, decision, stage]), [
    ["verification", "pass", 0],
    ["proxy_accuracy", "abort", 0],
    ["verification", "pass", 0],
    ["proxy_accuracy", "pass", 0],
    ["verification", "pass", 1],
    ["proxy_accuracy", "pass", 1],
  ]);
});

Deno.test("02_what_was_lost runs in a real kernel and pairs the trials' answers", async () => {
  const outputs = await outputsOnTiny("02_what_was_lost.ipynb");
  const tables = shownAs(outputs, "text/plain").filter((text) => text.startsWith("["))
    .map((text) => JSON.parse(text) as Record<string, unknown>[]);
  const [retention, flips, counts] = tables;
  assert.deepEqual(
    retention!.map(({ task, readable_id }) => `${task} ${String(readable_id).slice(0, 12)}`),
    [
      "everyday_choice s01-rtn-8bit",
      "everyday_choice s02-rtn-2bit",
      "tiny_words s01-rtn-8bit",
      "tiny_words s02-rtn-2bit",
    ],
  );
  for (const { retention: kept, value, baseline } of retention!) {
    if (Number(baseline) === 0) continue;
    assert.ok(Math.abs(Number(kept) - Number(value) / Number(baseline)) < 0.05);
  }
  assert.ok(
    flips!.every(({ gold, kept_answer, lost_answer }) =>
      kept_answer === gold && lost_answer !== gold
    ),
  );
  assert.ok(counts!.length > 0, "four bits flip no answer of a tiny model");
  const report = shownAs(outputs, "text/html").find((html) => html.includes("<iframe"));
  assert.match(report ?? "", /How it was measured/);
});
