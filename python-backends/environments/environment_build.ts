import { execa } from "execa";
import { renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";
import type { EnvironmentPins } from "./environment_pins.ts";
import { PYTHON_ROOT } from "../home.ts";
import { lastWords, pip } from "./pip.ts";
import type { Python } from "./python.ts";
import { installTorch } from "./torch_wheel.ts";

/** Written last: a folder without it is half-built and made anew. */
export const READY = ".ready";
export const PLATFORM = `${process.platform}-${process.arch}`;

/** The Python of a virtual environment. */
export function interpreter(directory: string): string {
  return process.platform === "win32"
    ? join(directory, "Scripts", "python.exe")
    : join(directory, "bin", "python");
}

interface Making {
  readonly base: Python;
  readonly directory: string;
  readonly gpu: boolean;
  readonly say: (line: string, done?: number) => void;
  readonly signal: AbortSignal | undefined;
}

/** Makes an environment in an empty folder; whatever fails leaves none behind. */
export async function buildEnvironment(
  pins: EnvironmentPins,
  { base, directory, gpu, say, signal }: Making,
): Promise<void> {
  const started = performance.now();
  checkDisk(pins, directory);
  rmSync(directory, { recursive: true, force: true });
  try {
    say(`making a virtual environment with Python ${base.version}`);
    if (pins.on_request !== null) say(pins.on_request);
    const empty = pins.torch === null && pins.packages === 0;
    await makeVenv(base.path, directory, pins.name, empty ? ["--without-pip"] : []);
    const python = interpreter(directory);
    let done = 0;
    const count = (line: string) => {
      if (/^(Collecting|Processing|Requirement already)/.test(line)) done += 1;
      if (/^(Collecting|Processing|Downloading|Installing|Successfully)/.test(line)) {
        say(line.slice(0, 160), done);
      }
    };
    if (pins.torch !== null) {
      await installTorch(python, pins.torch, { gpu, onLine: count, onWarning: say, signal });
      done = 1;
    }
    const args = ["install", "--no-deps", "--no-compile", "--progress-bar", "off"];
    const note = pins.on_request === null ? "" : ` (${pins.on_request})`;
    const attempt = `install the packages of the environment ${pins.name}${note}`;
    const options = { attempt, onLine: count, signal };
    if (!empty) await pip(python, [...args, "-r", pins.requirements_path], options);
    say("importing what it holds", done);
    await checkImports(python, pins);
    const seconds = Math.round((performance.now() - started) / 1000);
    const facts = {
      name: pins.name,
      hash: pins.hash,
      python: base.version,
      minor: base.minor,
      gpu,
      platform: PLATFORM,
      seconds,
    };
    writeFileSync(join(directory, `${READY}.part`), `${JSON.stringify(facts)}\n`);
    renameSync(join(directory, `${READY}.part`), join(directory, READY));
    say(`ready after ${seconds} s`, pins.packages + (pins.torch ? 1 : 0));
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

function checkDisk(pins: EnvironmentPins, directory: string): void {
  const { bavail, bsize } = statfsSync(join(directory, ".."));
  const free = bavail * bsize;
  if (free >= pins.bytes) return;
  const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new UsageError(
    `Cannot make the Python environment ${pins.name}: it needs about ${gb(pins.bytes)} of disk, ` +
      `${gb(free)} are free at ${directory}; free space or set PARE_HOME to a larger disk`,
  );
}

async function makeVenv(
  python: string,
  directory: string,
  name: string,
  flags: readonly string[],
): Promise<void> {
  const args = ["-m", "venv", ...flags, directory];
  const result = await execa(python, args, { reject: false, stdin: "ignore" });
  if (!result.failed) return;
  const said = lastWords(`${result.stdout}\n${result.stderr}`);
  throw new UsageError(`Cannot make the Python environment ${name} with ${python}: ${said}`);
}

/** Imports every module that the environment promises, and sees that none is there that breaks it:
 * packages are installed without asking for their dependencies. */
async function checkImports(python: string, pins: EnvironmentPins): Promise<void> {
  const program = "import importlib, importlib.util, json, sys\n" +
    "wanted, forbidden = json.loads(sys.argv[1])\n" +
    "for name in wanted:\n importlib.import_module(name)\n" +
    // What a worker imports first is compiled now, not while a study runs.
    "from pare_backends.prepare_imports import prepare_imports\n" +
    "prepare_imports('torch' if 'torch' in wanted else 'none')\n" +
    "there = [name for name in forbidden if importlib.util.find_spec(name)]\n" +
    "sys.exit('forbidden but there: ' + ', '.join(there) if there else 0)\n";
  const result = await execa(
    python,
    ["-c", program, JSON.stringify([pins.imports, pins.forbidden])],
    {
      reject: false,
      stdin: "ignore",
      env: {
        HF_HUB_OFFLINE: "1",
        PYTHONNOUSERSITE: "1",
        PYTHONPATH: PYTHON_ROOT,
        PYTHONDONTWRITEBYTECODE: "",
      },
    },
  );
  if (!result.failed) return;
  throw new UsageError(
    `Cannot use the Python environment ${pins.name} as it was installed: ` +
      lastWords(result.stderr),
  );
}
