/**
 * Measures every codec at several rates beside plain rounding, on the demo's model: bits by bytes, KL
 * to the original on held-out text, time to encode, speed of decoding. A cell is kept as soon as it is
 * measured; a run that was stopped goes on with the next one.
 *
 *     deno task bench:stages                    # every cell that is missing: hours of one core
 *     deno task bench:stages --only seedlm      # cells named so
 *     deno task bench:stages --minutes 40       # begins no cell after so long
 *     deno task bench:stages --figure           # measures nothing: table and figure of what is kept
 *     deno task bench:stages --quick            # the tiny model: tries the benchmark itself
 *     deno task bench:stages --fresh            # forgets what an earlier run measured
 */
import { execa } from "execa";
import { existsSync } from "node:fs";
import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { demoVariables } from "../../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { pareHome, PYTHON_ROOT } from "../../../python-backends/home.ts";
import { rateDistortion } from "../../../tracker/plots/figures/rate_distortion.ts";
import { benchmarkHome } from "../benchmark_home.ts";
import { type Cell, CELLS, QUICK } from "./cells.ts";
import { figureRows, type KeptCell, Measured, readCells, stagesTable } from "./stage_rows.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SCRIPT = fileURLToPath(new URL("./measure_cell.py", import.meta.url));
const HELD_OUT = fileURLToPath(new URL("../recovery", import.meta.url));
const KEPT = fileURLToPath(new URL("./stages.jsonl", import.meta.url));
const FIGURE = join(ROOT, "docs", "rate_against_kl.svg");
const CALIBRATION = join(PYTHON_ROOT, "pare_backends", "text", "calibration.jsonl");
const DATA = join(ROOT, "plugins", "evaluation", "data");
const MOST_OUTPUT = 64 * 1024;

const say = (text: string) => console.error(`bench: ${text}`);

interface Place {
  readonly folder: string;
  readonly model: "demo" | "tiny";
}

/** Both texts and how much of them; nothing of one is in the other. */
function textsOf(model: Place["model"]) {
  if (model === "tiny") {
    const text = join(DATA, "tiny_text.jsonl");
    const windows = { windows: 8, calibration_windows: 8 };
    return { text, calibration_text: text, ...windows, tokens: 64, calibration_tokens: 64 };
  }
  return {
    ...{ text: join(DATA, "demo_text.jsonl"), windows: 20, tokens: 256 },
    ...{ calibration_text: CALIBRATION, calibration_windows: 32, calibration_tokens: 256 },
  };
}

async function measure({ folder, model }: Place, cell: Cell): Promise<KeptCell> {
  const { python } = await ensureEnvironment("default");
  const { agent, method, params } = cell.action;
  const { stdout } = await execa(python, [SCRIPT], {
    input: JSON.stringify({ model, folder, agent, method, params, ...textsOf(model) }),
    env: {
      ...demoVariables(pareHome()),
      PYTHONPATH: `${PYTHON_ROOT}:${HELD_OUT}`,
      ...{ HF_HUB_OFFLINE: "1", OMP_NUM_THREADS: "1", TOKENIZERS_PARALLELISM: "false" },
    },
    stderr: "inherit",
  });
  // Libraries print on standard output too: the answer is its end.
  const answer = stdout.slice(-MOST_OUTPUT);
  const found = Measured.parse(JSON.parse(answer.slice(answer.lastIndexOf('{"encode_seconds"'))));
  return { name: cell.name, method, params, cores: navigator.hardwareConcurrency, ...found };
}

async function keptCells(path: string): Promise<KeptCell[]> {
  return existsSync(path) ? readCells(await readFile(path, "utf8")) : [];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      minutes: { type: "string", default: "1440" },
      figure: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) {
    console.error(`Cannot measure for --minutes ${values.minutes}: say a number above 0`);
    process.exit(2);
  }
  const folder = await benchmarkHome(values.quick ? "stages-quick" : "stages");
  const place: Place = { folder, model: values.quick ? "tiny" : "demo" };
  const path = values.quick ? join(folder, "stages.jsonl") : KEPT;
  if (values.fresh) await rm(path, { force: true });
  const all = (values.quick ? QUICK : CELLS).filter(({ name }) => name.includes(values.only));
  if (all.length === 0) throw new Error(`No cell is named like "${values.only}"`);
  const done = await keptCells(path);
  // As it is read: a torn last line goes.
  await writeFile(path, done.map((cell) => `${JSON.stringify(cell)}\n`).join(""));
  const missing = values.figure
    ? []
    : all.filter((one) => done.every(({ name }) => name !== one.name));
  const end = Date.now() + 60_000 * minutes;
  for (const [index, cell] of missing.entries()) {
    if (Date.now() > end) {
      say(`${minutes} minutes are over: ${missing.length - index} cells are left`);
      break;
    }
    say(`${cell.name}, ${index + 1} of ${missing.length}`);
    const found = await measure(place, cell);
    await appendFile(path, `${JSON.stringify(found)}\n`);
    done.push(found);
  }
  console.log(stagesTable(done));
  if (!values.quick) await writeFile(FIGURE, `${rateDistortion(figureRows(done))}\n`);
}

if (import.meta.main) await main();
