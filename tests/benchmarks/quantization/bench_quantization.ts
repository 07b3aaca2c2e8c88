/**
 * Measures every quantization method at 4, 3, 2 and 8 bits on the demo's model: KL to the original and
 * perplexity on held-out text, last words, bytes, seconds, memory. A cell is kept as soon as it is
 * measured; a run that was stopped goes on with the next one.
 *
 *     deno task bench:quantization                 # methods that are missing: hours of one core
 *     deno task bench:quantization --mixes         # mixes of formats beside uniform ones
 *     deno task bench:quantization --kept          # layers kept in twelve formats, and the solver
 *     deno task bench:quantization --bare          # recipes by the library alone
 *     deno task bench:quantization --only gptq     # cells named so, of any kind
 *     deno task bench:quantization --minutes 40    # begins no cell after so long
 *     deno task bench:quantization --table         # measures nothing: tables of what is kept
 *     deno task bench:quantization --quick         # the tiny model: tries the benchmark itself
 *     deno task bench:quantization --fresh         # forgets what an earlier run measured
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { benchmarkHome } from "../benchmark_home.ts";
import { keptLines } from "../cells/kept_lines.ts";
import { lastWords, measured, type Place } from "../cells/measure.ts";
import { minutesOf, named, runCells } from "../cells/run_cells.ts";
import { type Cell, CELLS, QUICK, type Set } from "./cells.ts";
import { isQuantized, Kept, Quantized, Row } from "./quantization_rows.ts";
import { tables } from "./tables.ts";

const SCRIPT = fileURLToPath(new URL("./measure_quantized.py", import.meta.url));
const KEPT = fileURLToPath(new URL("./quantization.jsonl", import.meta.url));

/** What the script is asked: of a mix that is calibrated anew, the assignment that was kept. */
function askedOf({ name, asked }: Cell, done: readonly Row[]): object {
  if (!("anew" in asked)) return asked;
  const mix = done.filter(isQuantized).find((row) => row.name === asked.anew);
  const action = mix?.actions?.[0];
  if (action === undefined) {
    throw new Error(`Cannot measure "${name}": measure "${asked.anew}" first, with --mixes`);
  }
  const params = { ...action.params as object, rounded_by: "gptq" };
  return { actions: [{ ...action, params }] };
}

async function measure(place: Place, cell: Cell, done: readonly Row[]): Promise<Row> {
  const { name, set } = cell;
  const asked = askedOf(cell, done);
  const words = set === "methods" || set === "bare" ? lastWords(place.model) : {};
  const answer = await measured(SCRIPT, place, { ...asked, ...words }, '{"measured"');
  const found = (answer as { measured: unknown }).measured;
  const about = { name, cores: navigator.hardwareConcurrency };
  if (set === "kept") return { ...about, set, ...Kept.parse(found) };
  return { ...about, set, ...asked, ...Quantized.parse(found) };
}

async function main(): Promise<void> {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      minutes: { type: "string", default: "1440" },
      ...{ mixes: flag, kept: flag, bare: flag, table: flag, quick: flag, fresh: flag },
    },
  });
  const minutes = minutesOf(values.minutes);
  const folder = await benchmarkHome(values.quick ? "quantization-quick" : "quantization");
  const place: Place = { folder, model: values.quick ? "tiny" : "demo" };
  const path = values.quick ? join(folder, "quantization.jsonl") : KEPT;
  const asked = (["mixes", "kept", "bare"] as const).filter((set) => values[set]);
  const sets: readonly Set[] = asked.length > 0 ? asked : ["methods"];
  const every = values.quick || values.only !== "";
  const of = named(values.quick ? QUICK : CELLS, values.only);
  const cells = values.table ? [] : of.filter(({ set }) => every || sets.includes(set));
  const done = await keptLines(Row, path, values.fresh);
  await runCells<Cell, Row>({
    ...{ cells, done, path, minutes },
    measure: (cell, rows) => measure(place, cell, rows),
  });
  console.log(tables(done));
}

if (import.meta.main) await main();
