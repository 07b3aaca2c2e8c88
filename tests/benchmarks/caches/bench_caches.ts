/**
 * Measures what each cache policy loses on a checkpoint, such as the demo's model below cache/models of
 * PARE_HOME, and what a sweep spares of reading. It writes the tables of docs/measurements/caches.md, and
 * keeps the figures.
 *
 *     deno task bench:caches --model DIR           # half an hour of one core
 *     deno task bench:caches --model DIR --lengths 1024,2048,4096 --prompts 8,6,4 --minutes 120
 *     deno task bench:caches --model DIR --rows FILE   # goes on with what the file has
 *     deno task bench:caches --model DIR --lacking     # only what no kept figure says
 *     deno task bench:caches --page                # measures nothing: the tables of what is kept
 *
 * `--untimed` keeps the seconds that were measured before: they say nothing on a busy machine.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { execa } from "execa";
import {
  ensureEnvironment,
  findEnvironment,
} from "../../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";
import { withTable } from "../cells/kept_tables.ts";
import { KeptCaches, knownCells, withFound } from "./cache_rows.ts";
import { chainTable, klTable, needleTable, timesTable } from "./cache_tables.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const KEPT = file("./caches.json");
const PAGE = file("../../../docs/measurements/caches.md");
const SHARES = [1 / 16, 1 / 8, 1 / 4, 1 / 2];

const numbers = (list: unknown): number[] => String(list).split(",").map(Number);

async function measured(values: Record<string, unknown>, before: KeptCaches): Promise<KeptCaches> {
  const [lengths, prompts] = [numbers(values["lengths"]), numbers(values["prompts"])];
  const { python } = await ensureEnvironment("default");
  const presses = await findEnvironment("kvpress");
  const asked = {
    model_dir: values["model"],
    text: file("../../../plugins/evaluation/data/demo_text.jsonl"),
    ...{ lengths, prompts, shares: SHARES, threads: 1 },
    timed: values["untimed"] === true ? [] : lengths.slice(0, 1),
    minutes: Number(values["minutes"]),
    presses: presses?.python ?? null,
    known: values["lacking"] === true ? knownCells(before) : {},
    rows: values["rows"] ?? join(await Deno.makeTempDir(), "rows.jsonl"),
  };
  const { stdout } = await execa(python, [file("./measure_caches.py")], {
    input: JSON.stringify(asked),
    env: { PYTHONPATH: PYTHON_ROOT, HF_HUB_OFFLINE: "1" },
    stderr: "inherit",
  });
  const found = KeptCaches.parse(JSON.parse(stdout.slice(stdout.lastIndexOf('{"cells"'))));
  const times = values["untimed"] === true ? before.times : found.times;
  return values["lacking"] === true ? { ...withFound(before, found), times } : { ...found, times };
}

/** A figure a line. */
const keptText = (kept: KeptCaches): string =>
  JSON.stringify(kept, null, 1).replace(
    /\{\s*"mean": ([^,]+),\s*"half": ([^,]+),\s*"count": (\d+)\s*\}/g,
    '{ "mean": $1, "half": $2, "count": $3 }',
  ) + "\n";

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      lengths: { type: "string", default: "1024,2048" },
      prompts: { type: "string", default: "4,2" },
      minutes: { type: "string", default: "600" },
      rows: { type: "string" },
      model: { type: "string" },
      lacking: { type: "boolean", default: false },
      untimed: { type: "boolean", default: false },
      page: { type: "boolean", default: false },
    },
  });
  if (!values.page && values.model === undefined) {
    console.error("Cannot measure caches without a model: give a checkpoint's folder by --model");
    Deno.exit(2);
  }
  let kept = KeptCaches.parse(JSON.parse(await readFile(KEPT, "utf8")));
  if (!values.page) {
    kept = await measured(values, kept);
    await writeFile(KEPT, keptText(kept));
  }
  const tables = {
    ...{ kl: klTable(kept), needles: needleTable(kept) },
    ...{ chains: chainTable(kept), times: timesTable(kept) },
  };
  const page = Object.entries(tables).reduce(
    (text, [name, table]) => withTable(text, name, table),
    await readFile(PAGE, "utf8"),
  );
  await writeFile(PAGE, page);
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE, KEPT]);
}

if (import.meta.main) await main();
