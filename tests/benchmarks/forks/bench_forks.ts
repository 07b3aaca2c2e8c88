/**
 * Measures how fast the same GGUF files run in llama.cpp and in its fork ik_llama.cpp, on the demo's
 * model: what llama.cpp rounds it to, both libraries in turn, with the KL of each. Prints its table and
 * keeps it.
 *
 *     deno task bench:forks            # 8 minutes of an idle machine
 *     deno task bench:forks --quick    # the tiny model: tries the benchmark itself
 *     deno task bench:forks --page     # measures nothing: the page's table of what is kept
 */
import { execa } from "execa";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { demoVariables } from "../../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";
import { benchmarkHome } from "../benchmark_home.ts";
import { withTable } from "../cells/kept_tables.ts";
import { forksTable, KeptForks } from "./forks_rows.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const KEPT = file("./forks.json");
const PAGE = file("../../../docs/measurements/quantizers.md");
const DATA = file("../../../plugins/evaluation/data");
const MODULES = [PYTHON_ROOT, file("../recovery"), file("../deployed")].join(":");
/** llama.cpp's numbers of its file types. */
const OWN = {
  ...{ Q4_0: 2, IQ4_NL: 25, IQ4_XS: 30, Q4_K_S: 14, Q4_K_M: 15, Q5_K_M: 17, Q6_K: 18, Q8_0: 7 },
};
const SHAPE = {
  demo: { text: "demo_text.jsonl", windows: 20, tokens: 256, repeats: 15, new_tokens: 64 },
  tiny: { text: "tiny_text.jsonl", windows: 2, tokens: 64, repeats: 2, new_tokens: 8 },
};

async function python(environment: string, script: string, home: string, asked: object) {
  const { python } = await ensureEnvironment(environment);
  const { stdout } = await execa(python, [file(script)], {
    input: JSON.stringify(asked),
    env: {
      ...{ PARE_HOME: home, PYTHONPATH: MODULES, HF_HUB_OFFLINE: "1" },
      ...demoVariables(home),
    },
  });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

async function measure(model: "demo" | "tiny"): Promise<KeptForks> {
  const home = await benchmarkHome(model === "tiny" ? "forks-quick" : "forks");
  const folder = join(home, "gguf");
  const { text, windows, tokens, ...timing } = SHAPE[model];
  const written = await python("default", "./write_files.py", home, {
    ...{ model, folder, text: join(DATA, text), windows, tokens },
  });
  const threads = navigator.hardwareConcurrency;
  const answer = await python("llama_cpp", "./time_forks.py", home, {
    ...{ folder, own: model === "tiny" ? { Q4_0: 2, Q8_0: 7 } : OWN, ...timing },
    ...{ windows: written.windows, prompt_tokens: 16, threads },
    ik: (await ensureEnvironment("ik_llama_cpp")).python,
  });
  await rm(folder, { recursive: true, force: true });
  return KeptForks.parse({ cores: threads, ...answer });
}

async function main(): Promise<void> {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({ options: { quick: flag, page: flag } });
  const kept = values.page
    ? KeptForks.parse(JSON.parse(await readFile(KEPT, "utf8")))
    : await measure(values.quick ? "tiny" : "demo");
  console.log(forksTable(kept));
  if (values.quick) return;
  await writeFile(KEPT, `${JSON.stringify(kept, null, 2)}\n`);
  await writeFile(PAGE, withTable(await readFile(PAGE, "utf8"), "forks", forksTable(kept)));
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE]);
}

if (import.meta.main) await main();
