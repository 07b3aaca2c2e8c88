/**
 * Whether P(front) is true as often as it says, on simulated studies whose front is known:
 * `deno task bench:calibration [--studies 400]` writes table and figure of docs/measurements/deciding.md.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { LAYOUTS } from "../../core/front_layouts.ts";
import { withTable } from "../cells/kept_tables.ts";
import { calibrationFigure } from "./calibration_figure.ts";
import { calibrationRow, calibrationTable, worst } from "./calibration_rows.ts";

const docs = (name: string) =>
  fileURLToPath(new URL(`../../../docs/measurements/${name}`, import.meta.url));
const STUDIES = 400;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { studies: { type: "string", default: String(STUDIES) } },
  });
  const studies = Number(values.studies);
  if (!Number.isSafeInteger(studies) || studies < 1) {
    console.error(`Cannot simulate ${values.studies} studies: give a whole number from 1`);
    Deno.exit(2);
  }
  const rows = LAYOUTS.map((layout) => {
    // As many trials of each: a study of sixty counts for three of twenty.
    const row = calibrationRow(layout, Math.ceil(studies * 20 / layout.trials));
    console.error(`${row.layout}: said and true differ by at most ${worst(row).toFixed(2)}`);
    return row;
  });
  console.log(calibrationTable(rows));
  if (studies < STUDIES) return;
  const page = docs("deciding.md");
  await writeFile(
    page,
    withTable(await readFile(page, "utf8"), "calibration", calibrationTable(rows)),
  );
  await writeFile(docs("calibration.svg"), calibrationFigure(rows));
  await execa(Deno.execPath(), ["fmt", "--quiet", page]);
}

if (import.meta.main) await main();
