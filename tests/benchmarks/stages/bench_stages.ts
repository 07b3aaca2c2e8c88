/**
 * Measures every codec at several rates beside plain rounding, on the demo's model: bits by bytes, KL
 * to the original on held-out text, time to encode, speed of decoding. A cell is kept as soon as it is
 * measured; a run that was stopped goes on with the next one.
 *
 *     deno task bench:stages                    # every cell that is missing: hours of one core
 *     deno task bench:stages --only seedlm      # cells named so
 *     deno task bench:stages --minutes 40       # begins no cell after so long
 *     deno task bench:stages --figure           # measures nothing: tables and figure of what is kept
 *     deno task bench:stages --document --data-dir ~/benchmarks
 *                                               # the requirement's document on few samples: an hour
 *     deno task bench:stages --quick            # the tiny model: tries the benchmark itself
 *     deno task bench:stages --fresh            # forgets what an earlier run measured
 */
import { execa } from "execa";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { rateDistortion } from "../../../tracker/show/plots/figures/rate_distortion.ts";
import { benchmarkHome } from "../benchmark_home.ts";
import { keptLines } from "../cells/kept_lines.ts";
import { measured, type Place } from "../cells/measure.ts";
import { minutesOf, named, runCells } from "../cells/run_cells.ts";
import { type Cell, CELLS, QUICK } from "./cells.ts";
import { documentTable } from "./document_rows.ts";
import { withTable } from "../cells/kept_tables.ts";
import { keptDocument, runDocument } from "./run_document.ts";
import { figureRows, KeptCell, Measured, stagesTable } from "./stage_rows.ts";

const SCRIPT = fileURLToPath(new URL("./measure_cell.py", import.meta.url));
const KEPT = fileURLToPath(new URL("./stages.jsonl", import.meta.url));
const FIGURE = fileURLToPath(
  new URL("../../../docs/measurements/rate_against_kl.svg", import.meta.url),
);
const PAGE = fileURLToPath(new URL("../../../docs/measurements/codecs.md", import.meta.url));

async function measure(place: Place, { name, action }: Cell): Promise<KeptCell> {
  const { agent, method, params } = action;
  const answer = await measured(SCRIPT, place, { agent, method, params }, '{"encode_seconds"');
  const found = Measured.parse(answer);
  return { name, method, params, cores: navigator.hardwareConcurrency, ...found };
}

/** The figure, and the tables of its page, from what is kept. */
async function writePage(cells: readonly KeptCell[]): Promise<void> {
  await writeFile(FIGURE, `${rateDistortion(figureRows(cells))}\n`);
  const run = await keptDocument();
  let page = withTable(await readFile(PAGE, "utf8"), "cells", stagesTable(cells));
  if (run !== null) page = withTable(page, "document", documentTable(run));
  await writeFile(PAGE, page);
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      minutes: { type: "string", default: "1440" },
      figure: { type: "boolean", default: false },
      document: { type: "boolean", default: false },
      "data-dir": { type: "string" },
      quick: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
    },
  });
  if (values.document) {
    console.log(documentTable(await runDocument(values["data-dir"])));
    return await writePage(await keptLines(KeptCell, KEPT, false));
  }
  const minutes = minutesOf(values.minutes);
  const folder = await benchmarkHome(values.quick ? "stages-quick" : "stages");
  const place: Place = { folder, model: values.quick ? "tiny" : "demo" };
  const path = values.quick ? join(folder, "stages.jsonl") : KEPT;
  const cells = named(values.quick ? QUICK : CELLS, values.only);
  const done = await keptLines(KeptCell, path, values.fresh);
  const measuring = (cell: Cell) => measure(place, cell);
  const run = { cells: values.figure ? [] : cells, done, path, minutes, measure: measuring };
  await runCells<Cell, KeptCell>(run);
  console.log(stagesTable(done));
  if (!values.quick) await writePage(done);
}

if (import.meta.main) await main();
