/**
 * Measures what each cache policy loses on a checkpoint, such as the demo's model below cache/models of
 * PARE_HOME, and what a sweep spares of reading. It writes both tables of docs/measurements/caches.md, and
 * keeps the figures.
 *
 *     deno task bench:caches --model DIR           # ten minutes of two cores
 *     deno task bench:caches --model DIR --lengths 1024,2048,4096 --prompts 8
 *     deno task bench:caches --page                # measures nothing: the tables of what is kept
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { execa } from "execa";
import {
  ensureEnvironment,
  findEnvironment,
} from "../../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";
import { withTable } from "../cells/kept_tables.ts";
import { cellsTable, KeptCaches, timesTable } from "./cache_rows.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const KEPT = file("./caches.json");
const PAGE = file("../../../docs/measurements/caches.md");
const SHARES = [1 / 16, 1 / 8, 1 / 4, 1 / 2];

async function measured(values: Record<string, unknown>): Promise<KeptCaches> {
  const lengths = String(values["lengths"]).split(",").map(Number);
  const { python } = await ensureEnvironment("default");
  const presses = await findEnvironment("kvpress");
  const counts = { prompts: Number(values["prompts"]), texts: Number(values["texts"]) };
  const asked = {
    model_dir: values["model"],
    text: file("../../../plugins/evaluation/data/demo_text.jsonl"),
    ...{ lengths, ...counts, shares: SHARES, timed: lengths.slice(0, 1), threads: 1 },
    presses: presses?.python ?? null,
  };
  const { stdout } = await execa(python, [file("./measure_caches.py")], {
    input: JSON.stringify(asked),
    env: { PYTHONPATH: PYTHON_ROOT, HF_HUB_OFFLINE: "1" },
    stderr: "inherit",
  });
  return KeptCaches.parse({
    ...JSON.parse(stdout.slice(stdout.lastIndexOf('{"cells"'))),
    ...counts,
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      lengths: { type: "string", default: "1024" },
      prompts: { type: "string", default: "2" },
      texts: { type: "string", default: "1" },
      model: { type: "string" },
      page: { type: "boolean", default: false },
    },
  });
  if (!values.page && values.model === undefined) {
    console.error("Cannot measure caches without a model: give a checkpoint's folder by --model");
    Deno.exit(2);
  }
  if (!values.page) await writeFile(KEPT, JSON.stringify(await measured(values), null, 1) + "\n");
  const kept = KeptCaches.parse(JSON.parse(await readFile(KEPT, "utf8")));
  const page = withTable(await readFile(PAGE, "utf8"), "cells", cellsTable(kept));
  await writeFile(PAGE, withTable(page, "times", timesTable(kept)));
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE, KEPT]);
}

if (import.meta.main) await main();
