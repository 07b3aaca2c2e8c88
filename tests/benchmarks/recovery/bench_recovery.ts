/**
 * Measures what LoRA and distillation win back of what cuts cost, on the demo's model; prints a
 * table and keeps it. It goes on where it was stopped.
 *
 *     deno task bench:recovery                # 15 minutes of training a recipe: some six hours
 *     deno task bench:recovery --minutes 2    # less training
 *     deno task bench:recovery --quick        # the tiny model: tries the benchmark itself
 *     deno task bench:recovery --only "2 blocks"   # cuts named so, in a study of their own
 *     deno task bench:recovery --again "2 blocks"  # the kept rows of cuts named so, measured again
 *     deno task bench:recovery --page         # measures nothing: the page's tables of what is kept
 *     deno task bench:recovery --fresh        # forgets what an earlier run measured
 */
import { placeOf } from "../../../tracker/artifacts/artifact_places.ts";
import { execa } from "execa";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";
import { benchmarkHome } from "../benchmark_home.ts";
import { keptStudy, type Place, sql } from "../kept_study.ts";
import { probes, type Recipe, recipes, type Steps, uncut } from "./recipes.ts";
import { KEPT, type KeptRecovery, keptRecovery, writePage } from "./recovery_page.ts";
import { type Measured, recoveryRows, recoveryTable, withRows } from "./recovery_rows.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SCRIPT = fileURLToPath(new URL("./heldout_kl.py", import.meta.url));
const TEXTS = { demo: "demo_text.jsonl", tiny: "tiny_text.jsonl" };
const PROBE_STEPS = 20;
/** Windows that every training leaves out to see when to stop. */
const HELD_OUT = 4;
/** Steps that a method takes at most, and at least. */
const MOST_STEPS = 2000;
const LEAST_STEPS = 20;

const say = (text: string) => console.error(`bench: ${text}`);

/** What training took in each trial: its steps, and what the teacher answered before them. */
const TRAINING = `SELECT trial_id, sum(seconds) AS seconds FROM spans
  WHERE phase = 'apply' AND name IN ('train', 'teacher') GROUP BY ALL`;

/** Steps of each recovery that take so many minutes, by a few timed ones. */
async function equalSteps(place: Place, minutes: number): Promise<Steps> {
  const asked = probes(PROBE_STEPS);
  const store = await keptStudy(place, "probe", asked.map(({ actions }) => actions));
  const found = await sql(
    place,
    store,
    `SELECT t.number, s.name, sum(s.seconds) AS seconds FROM spans s JOIN trials t USING (trial_id)
    WHERE s.phase = 'apply' AND s.name IN ('train', 'teacher') GROUP BY ALL`,
  );
  const steps = asked.map(({ recovery }, n) => {
    const took = (name: string) =>
      Number(
        found.find((row) => row["number"] === n + 1 && row["name"] === name)?.["seconds"] ?? 0,
      );
    if (!(took("train") > 0)) throw new Error(`${recovery} was not timed: look at ${store}`);
    // A step asks the teacher for a window: as if each were new, and the held-out ones before them.
    const asking = took("teacher") / (PROBE_STEPS + HELD_OUT);
    const wanted = (60 * minutes - HELD_OUT * asking) / (took("train") / PROBE_STEPS + asking);
    return [recovery, Math.min(MOST_STEPS, Math.max(LEAST_STEPS, Math.round(wanted)))] as const;
  });
  return Object.fromEntries(steps) as Steps;
}

async function heldOutKl(
  { home, model }: Place,
  original: string,
  models: Readonly<Record<string, string>>,
): Promise<Record<string, number[]>> {
  const { python } = await ensureEnvironment("default");
  const text = join(ROOT, "plugins", "evaluation", "data", TEXTS[model]);
  const shape = model === "demo" ? { windows: 20, tokens: 256 } : { windows: 8, tokens: 64 };
  const { stdout } = await execa(python, [SCRIPT], {
    input: JSON.stringify({ original, models, text, ...shape }),
    env: { PARE_HOME: home, PYTHONPATH: PYTHON_ROOT, HF_HUB_OFFLINE: "1" },
    stderr: "inherit",
  });
  return JSON.parse(stdout);
}

const number = (value: unknown) => typeof value === "number" ? value : null;

/** What a study of recipes has of each, and of the original. */
async function measured(place: Place, store: string, asked: readonly Recipe[]) {
  const rows = await sql(
    place,
    store,
    `SELECT t.number, t.methods, t.trial_id, t.state, t.failure_message, t.accuracy, t.accuracy_drop,
      c.interval_low, c.interval_high, t.perplexity, t.latency_ratio, t.size_bytes, t.artifact_id,
      s.seconds
    FROM trial_summary t
    LEFT JOIN constraint_verdicts c
      ON c.trial_id = t.trial_id AND c.constraint_name = 'max_accuracy_drop'
    LEFT JOIN (${TRAINING}) s ON s.trial_id = t.trial_id
    ORDER BY t.number`,
  );
  const baseline = rows[0];
  // A recipe that was refused leaves room for one that the study itself proposes: not asked for here.
  const trials = rows.slice(1).filter(({ number }) => Number(number) <= asked.length);
  const [{ artifact_id } = { artifact_id: null }] = await sql(
    place,
    store,
    "SELECT artifact_id FROM artifacts WHERE parent_id IS NULL",
  );
  const folderOf = (id: unknown) => placeOf(String(id), join(place.home, "store"));
  const made = trials.filter((row) => typeof row["artifact_id"] === "string");
  const models = await Promise.all(
    made.map(async (row) => [String(row["number"]), await folderOf(row["artifact_id"])] as const),
  );
  say(`KL of ${models.length} models on held-out text`);
  const kl = await heldOutKl(place, await folderOf(artifact_id), Object.fromEntries(models));
  const found = trials.map((row): readonly [Recipe, Measured] => {
    const n = Number(row["number"]);
    const methods = asked[n - 1]!.actions.map(({ method }) => method).join(" + ");
    if (row["methods"] !== methods) throw new Error(`Trial ${n} is ${row["methods"]}: ${methods}`);
    const failed = row["state"] !== "completed";
    if (failed) say(`${asked[n - 1]?.cut}: ${row["state"]}: ${row["failure_message"]}`);
    return [asked[n - 1]!, {
      state: String(row["state"]),
      accuracy: number(row["accuracy"]),
      accuracy_drop: number(row["accuracy_drop"]),
      drop_low: number(row["interval_low"]),
      drop_high: number(row["interval_high"]),
      perplexity: number(row["perplexity"]),
      latency_ratio: number(row["latency_ratio"]),
      size_bytes: number(row["size_bytes"]),
      training_seconds: number(row["seconds"]),
      kl: kl[String(n)] ?? null,
    }];
  });
  return { found, original: number(baseline?.["perplexity"]) };
}

/** Recipes that are kept, measured again with as many steps: their rows take the kept ones' places. */
async function again(cut: string): Promise<void> {
  const kept = await keptRecovery();
  const asked = recipes(kept.steps).filter((recipe) => recipe.cut.includes(cut));
  if (asked.length === 0) throw new Error(`No cut is named like "${cut}"`);
  const part = cut.replace(/[^a-z0-9]+/gi, "_");
  const home = await benchmarkHome(`recovery-${kept.minutes}-again-${part}`);
  const place: Place = { home, model: "demo" };
  const { found, original } = await measured(
    place,
    await keptStudy(place, "study", asked.map(({ actions }) => actions)),
    asked,
  );
  const rows = withRows(kept.rows, found, original);
  await writeFile(KEPT, `${JSON.stringify({ ...kept, rows }, null, 1)}\n`);
  await writePage();
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "15" },
      quick: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      again: { type: "string", default: "" },
      page: { type: "boolean", default: false },
    },
  });
  if (values.page) return await writePage();
  if (values.again !== "") return await again(values.again);
  const minutes = values.quick ? 0.01 : Number(values.minutes);
  if (!(minutes > 0)) {
    console.error(`Cannot train for --minutes ${values.minutes}: say a number above 0`);
    process.exit(2);
  }
  const part = values.only.replace(/[^a-z0-9]+/gi, "_");
  const name = [values.quick ? "recovery-quick" : `recovery-${minutes}`, part].filter(Boolean)
    .join("-");
  const home = await benchmarkHome(name);
  if (values.fresh) {
    for (const made of ["probe", "study", "uncut", "artifacts"]) {
      await rm(join(home, made), { recursive: true, force: true });
    }
  }
  const place: Place = { home, model: values.quick ? "tiny" : "demo" };
  const steps = await equalSteps(place, minutes);
  say(`${minutes} minutes: ${steps.lora} steps of LoRA, ${steps.distill} of distillation`);
  const asked = recipes(steps).filter(({ cut }) => cut.includes(values.only));
  if (asked.length === 0) throw new Error(`No cut is named like "${values.only}"`);
  const { found, original } = await measured(
    place,
    await keptStudy(place, "study", asked.map(({ actions }) => actions)),
    asked,
  );
  const alike = uncut(steps);
  const trained = await measured(
    place,
    await keptStudy(place, "uncut", alike.map(({ actions }) => actions)),
    alike,
  );
  const rows = recoveryRows([...found, ...trained.found], original);
  console.log(recoveryTable(rows));
  if (!values.quick && values.only === "") {
    const kept: KeptRecovery = { minutes, steps, cores: navigator.hardwareConcurrency, rows };
    await writeFile(KEPT, `${JSON.stringify(kept, null, 1)}\n`);
    await writePage();
  }
}

if (import.meta.main) await main();
