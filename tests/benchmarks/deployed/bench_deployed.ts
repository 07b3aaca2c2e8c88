/**
 * Measures how fast the recipes run that lose little, on the demo's model: as trials of a study in
 * OpenVINO and of one in llama.cpp, beside the original and the roofline; then the files of the second in
 * turn with the original's and with what llama.cpp rounds to by itself. Prints its tables and keeps them.
 * It goes on where it was stopped.
 *
 *     deno task bench:deployed            # 40 minutes of an idle machine
 *     deno task bench:deployed --quick    # the tiny model: tries the benchmark itself
 *     deno task bench:deployed --page     # measures nothing: the page's tables of what is kept
 *     deno task bench:deployed --fresh    # forgets what an earlier run measured
 */
import { placeOf } from "../../../tracker/artifacts/artifact_places.ts";
import { execa } from "execa";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";
import { benchmarkHome } from "../benchmark_home.ts";
import { withTable } from "../cells/kept_tables.ts";
import { keptStudy, type Place, sql } from "../kept_study.ts";
import {
  type DeployedRecipe,
  type DeployedRuntime,
  QUICK,
  RECIPES,
  RUNTIMES,
} from "./deployed_recipes.ts";
import {
  draftsTable,
  filesTable,
  KeptDeployed,
  Original,
  originalsTable,
  Trial,
  trialsTable,
} from "./deployed_rows.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const KEPT = file("./deployed.json");
const PAGE = file("../../../docs/measurements/quantizers.md");
const DATA = file("../../../plugins/evaluation/data");
const MODULES = [PYTHON_ROOT, file("../recovery")].join(":");
/** llama.cpp's numbers of its file types. */
const OWN = { "llama.cpp Q4_0": 2, "llama.cpp Q4_K_M": 15, "llama.cpp Q8_0": 7 };
const SHAPE = {
  demo: { text: "demo_text.jsonl", windows: 20, tokens: 256, repeats: 15, new_tokens: 64 },
  tiny: { text: "tiny_text.jsonl", windows: 4, tokens: 64, repeats: 2, new_tokens: 8 },
};

/** The file that guesses the original's next tokens: the smallest that loses little. */
const DRAFT = { demo: "IQ4_NL, a tenth in 8 bits, 4-bit head", tiny: "Q8_0" };

async function python(environment: string, script: string, home: string, asked: object) {
  const { python } = await ensureEnvironment(environment);
  const { stdout } = await execa(python, [file(script)], {
    input: JSON.stringify(asked),
    env: { PARE_HOME: home, PYTHONPATH: MODULES, HF_HUB_OFFLINE: "1" },
    stderr: "inherit",
  });
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n{"') + 1));
}

const MEASURED =
  `SELECT t.number, t.state, t.accuracy, t.accuracy_drop, t.size_bytes, t.latency_ratio,
    t.latency_ratio_low AS ratio_low, t.latency_ratio_high AS ratio_high, t.artifact_id,
    -d.difference_high AS drop_low, -d.difference_low AS drop_high,
    max(m.value) FILTER (m.metric = 'kl') AS kl,
    max(m.value) FILTER (m.metric = 'latency_ms') AS latency_ms,
    max(m.value) FILTER (m.metric = 'roofline_ms') AS roofline_ms
  FROM trial_summary t
  LEFT JOIN paired_differences d
    ON d.trial_id = t.trial_id AND d.task IS NULL AND d.metric = 'accuracy'
  LEFT JOIN measurements m ON m.trial_id = t.trial_id
  GROUP BY ALL ORDER BY t.number`;

const ORIGINALS = `SELECT runtime, inference_precision, latency_ms, reason FROM runtime_timings
  WHERE trial_id IS NULL ORDER BY position`;

const studyOf = (runtime: DeployedRuntime) => `study-${runtime}`;

/** The trials of a runtime's study, and where their artifacts and the original lie. */
async function trials(place: Place, all: readonly DeployedRecipe[], runtime: DeployedRuntime) {
  const recipes = all.filter((one) => one.runtime === runtime);
  const asked = recipes.map(({ actions }) => actions);
  const store = await keptStudy(place, studyOf(runtime), asked, { runtime });
  const rows = (await sql(place, store, MEASURED)).slice(1, recipes.length + 1);
  const [{ artifact_id: original } = {}] = await sql(
    place,
    store,
    "SELECT artifact_id FROM artifacts WHERE parent_id IS NULL",
  );
  const folderOf = (id: unknown) => placeOf(String(id), join(place.home, "store"));
  const models: Record<string, string> = { original: await folderOf(original) };
  const found: Trial[] = [];
  for (const { number, artifact_id, ...figures } of rows) {
    const { name } = recipes[Number(number) - 1]!;
    if (artifact_id !== null) models[name] = await folderOf(artifact_id);
    found.push(Trial.parse({ ...figures, name }));
  }
  const originals = z.array(Original).parse(await sql(place, store, ORIGINALS));
  return { found, models, originals };
}

/** The models as GGUF files in llama.cpp, beside its own rounding of the original. */
async function files({ home, model }: Place, models: Readonly<Record<string, string>>) {
  const folder = join(home, "gguf");
  const { text, windows, tokens, ...timing } = SHAPE[model];
  const original = models["original"]!;
  const written = await python("default", "./write_gguf.py", home, {
    ...{ models, original, folder, text: join(DATA, text), windows, tokens },
  });
  const answer = await python("llama_cpp", "./time_gguf.py", home, {
    ...{ folder, names: Object.keys(models), own: OWN, from: "original", ...timing },
    ...{ windows: written.windows, prompt_tokens: 16, threads: navigator.hardwareConcurrency },
  });
  const names = Object.keys(answer.files);
  const rows = await Promise.all(names.map(async (name) => {
    const described = join(folder, name, "gguf.json");
    const read = name in OWN ? null : JSON.parse(await readFile(described, "utf8"));
    const roofline_ms = read === null ? null : 1000 * read.bytes_read_per_token / answer.bandwidth;
    return { name, ...answer.files[name], roofline_ms };
  }));
  const drafts = await python("llama_cpp", "./time_drafts.py", home, {
    ...{ target: join(folder, "original"), draft: join(folder, DRAFT[model]) },
    prompts: written.windows.slice(0, 4).map((window: number[]) => window.slice(0, 64)),
    ...{ drafted: [2, 4, 8], new_tokens: timing.new_tokens, repeats: 4 },
    threads: navigator.hardwareConcurrency,
  });
  await rm(folder, { recursive: true, force: true });
  return { load: answer.load, files: rows, drafts: { draft: DRAFT[model], ...drafts } };
}

/** By the name of its place in the page. */
function tablesOf({ originals, trials, llama_cpp }: KeptDeployed): Record<string, string> {
  return {
    originals: originalsTable(originals),
    deployed: trialsTable(trials.openvino),
    llama_cpp: filesTable(llama_cpp.files, trials.llama_cpp),
    drafts: draftsTable(llama_cpp.drafts),
  };
}

async function writePage(kept: KeptDeployed): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  const tables = Object.entries(tablesOf(kept));
  await writeFile(PAGE, tables.reduce((text, [name, table]) => withTable(text, name, table), page));
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE]);
}

async function main(): Promise<void> {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({ options: { quick: flag, page: flag, fresh: flag } });
  if (values.page) {
    return await writePage(KeptDeployed.parse(JSON.parse(await readFile(KEPT, "utf8"))));
  }
  const home = await benchmarkHome(values.quick ? "deployed-quick" : "deployed");
  if (values.fresh) {
    for (const made of [...RUNTIMES.map(studyOf), "artifacts"]) {
      await rm(join(home, made), { recursive: true, force: true });
    }
  }
  const place: Place = { home, model: values.quick ? "tiny" : "demo" };
  const recipes = values.quick ? QUICK : RECIPES;
  const openvino = await trials(place, recipes, "openvino");
  const llama_cpp = await trials(place, recipes, "llama.cpp");
  const kept = KeptDeployed.parse({
    cores: navigator.hardwareConcurrency,
    trials: { openvino: openvino.found, llama_cpp: llama_cpp.found },
    originals: llama_cpp.originals,
    llama_cpp: await files(place, llama_cpp.models),
  });
  console.log(Object.values(tablesOf(kept)).join("\n\n"));
  if (values.quick) return;
  await writeFile(KEPT, `${JSON.stringify(kept, null, 2)}\n`);
  await writePage(kept);
}

if (import.meta.main) await main();
