/**
 * Makes what a visitor sees before installing anything: notebook 01 with its outputs, and the report of
 * its study. A study of its own in an empty store, on the demo's model, or the one that
 * PARE_NOTEBOOK_MODEL names:
 *
 *     deno task examples
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { openLab, writeReport } from "../../tracker/mod.ts";
import { PROJECT_ROOT } from "../../tracker/ground/home.ts";
import { emptyHome, execute, NOTEBOOKS } from "../fixtures/notebook_run.ts";

export const EXAMPLES = join(PROJECT_ROOT, "docs", "examples");
const NOTEBOOK = "01_first_study.ipynb";

/** Bytes as text, such as a picture's: no place of a machine is so long without a dot, dash or space. */
const BASE64 = /([A-Za-z0-9+/]{200,}={0,2})/;

/**
 * Each place of this machine by a name that means something elsewhere; the longest first. Bytes stay as
 * they are: a short name of a host stands in any picture by chance.
 */
export function withoutPlaces(text: string, home: string, host = hostname()): string {
  const places: [string, string][] = [
    [home, "~/.cache/pare"],
    [PROJECT_ROOT, "."],
    [tmpdir(), "/tmp"],
    [homedir(), "~"],
  ];
  const longest = places.toSorted(([a], [b]) => b.length - a.length);
  const own = new RegExp(`\\b${RegExp.escape(host)}\\b`, "g");
  const named = (words: string) =>
    longest
      .reduce((sum, [place, name]) => place.length > 1 ? sum.replaceAll(place, name) : sum, words)
      .replaceAll(own, "this-machine");
  return text.split(BASE64).map((part, i) => i % 2 === 1 ? part : named(part)).join("");
}

interface Output {
  output_type: string;
  data?: Record<string, unknown>;
}

interface Executed {
  cells: { cell_type: string; outputs?: Output[]; metadata: unknown }[];
}

/** A bitmap that a later cell shows as well: here its drawing alone stays, a thirtieth of the bytes. */
function dropRepeated(outputs: readonly Output[]): void {
  const seen = new Set<unknown>();
  for (const { data } of outputs.toReversed()) {
    const bitmap = data?.["image/png"];
    if (bitmap === undefined) continue;
    if (seen.has(bitmap) && "image/svg+xml" in data!) delete data!["image/png"];
    seen.add(bitmap);
  }
}

/** Times of cells and lines of the set-up say nothing to a reader. */
export function tidy(notebook: Executed): Executed {
  dropRepeated(notebook.cells.flatMap(({ outputs = [] }) => outputs));
  for (const cell of notebook.cells) {
    cell.metadata = {};
    if (cell.outputs === undefined) continue;
    cell.outputs = cell.outputs.filter(({ output_type }) => output_type !== "stream");
  }
  return notebook;
}

async function makeExamples(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "pare-examples-"));
  try {
    const PARE_HOME = await emptyHome(folder);
    await execute(join(NOTEBOOKS, NOTEBOOK), folder, { PARE_HOME });
    const executed = JSON.parse(await readFile(join(folder, "out.ipynb"), "utf8")) as Executed;
    Deno.env.set("PARE_HOME", PARE_HOME);
    await using lab = await openLab();
    const { html } = await writeReport(lab, undefined, { folder: join(folder, "report") });
    await mkdir(EXAMPLES, { recursive: true });
    const keep = (name: string, text: string) =>
      writeFile(join(EXAMPLES, name), withoutPlaces(text, PARE_HOME));
    await keep(NOTEBOOK, `${JSON.stringify(tidy(executed), null, 1)}\n`);
    await keep("report.html", await readFile(html, "utf8"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await makeExamples();
