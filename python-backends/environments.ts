import { execa } from "execa";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "../core/mod.ts";
import { type EnvironmentPins, readPins } from "./environment_pins.ts";
import { withFileLock } from "./file_lock.ts";
import { pareHome, PYTHON_ROOT } from "./home.ts";
import { lastWords, pip } from "./pip.ts";
import { type Python, requirePython } from "./python.ts";
import { hasGpu, installTorch } from "./torch_wheel.ts";

/** How far the making of an environment is: packages, and pip's own line. */
export interface EnvironmentProgress {
  readonly environment: string;
  readonly line: string;
  readonly done: number;
  readonly total: number;
}
export type OnEnvironmentProgress = (progress: EnvironmentProgress) => void;

/** An environment that is ready to run. */
export interface Environment {
  readonly name: string;
  readonly python: string;
  /** Of its pins; "override" where a variable names the interpreter. */
  readonly hash: string;
  readonly directory: string | null;
}

export interface EnsureOptions {
  readonly home?: string;
  /** A third party's folder with requirements.txt and environment.json. */
  readonly pins_directory?: string;
  readonly onProgress?: OnEnvironmentProgress;
  readonly signal?: AbortSignal;
}

/** Written last: a folder without it is half-built and made anew. */
const READY = ".ready";

/** Interpreter that `PARE_ENV_<NAME>` names, such as PARE_ENV_DEFAULT: for an environment that is
 * managed by hand. Its pins are then the user's affair. */
export function overriddenPython(name: string): string | null {
  const variable = overrideVariable(name);
  const path = process.env[variable];
  if (!path) return null;
  if (!existsSync(path)) throw new UsageError(`Cannot use ${variable}: there is no ${path}`);
  return path;
}

/** The variable that names an environment's interpreter. */
export function overrideVariable(name: string): string {
  return `PARE_ENV_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** Where an environment lies or will lie: its name, and what its wheels depend on. */
export function environmentDirectory(
  pins: EnvironmentPins,
  { home, minor, gpu }: { home: string; minor: string; gpu: boolean },
): string {
  // The folder is part of the key: a virtual environment holds absolute paths.
  const key = [pins.hash, minor, gpu && pins.torch !== null, process.platform, process.arch];
  const hash = createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 12);
  return join(home, "envs", `${pins.name}-${hash}`);
}

/** The environment, made on first use: minutes and gigabytes then, milliseconds afterwards. */
export async function ensureEnvironment(
  name: string,
  { home = pareHome(), pins_directory, onProgress = () => {}, signal }: EnsureOptions = {},
): Promise<Environment> {
  const override = overriddenPython(name);
  if (override !== null) return { name, python: override, hash: "override", directory: null };
  const pins = readPins(name, pins_directory);
  const base = await requirePython();
  const gpu = pins.torch !== null && await hasGpu();
  const directory = environmentDirectory(pins, { home, minor: base.minor, gpu });
  const environment = { name, python: interpreter(directory), hash: pins.hash, directory };
  if (existsSync(join(directory, READY))) return environment;

  const say = (line: string, done = 0) =>
    onProgress({ environment: name, line, done, total: pins.packages + (pins.torch ? 1 : 0) });
  mkdirSync(join(home, "envs"), { recursive: true });
  await withFileLock(`${directory}.lock`, {
    signal,
    onWait: () => say("another process is making it; waiting"),
  }, async () => {
    if (existsSync(join(directory, READY))) return; // made while we waited
    await make(pins, { base, directory, gpu, say, signal });
  });
  return environment;
}

/** Whether an environment is there, without making it. */
export async function findEnvironment(
  name: string,
  home: string = pareHome(),
): Promise<Environment | null> {
  const override = overriddenPython(name);
  if (override !== null) return { name, python: override, hash: "override", directory: null };
  const pins = readPins(name);
  const { minor } = await requirePython();
  const gpu = pins.torch !== null && await hasGpu();
  const directory = environmentDirectory(pins, { home, minor, gpu });
  if (!existsSync(join(directory, READY))) return null;
  return { name, python: interpreter(directory), hash: pins.hash, directory };
}

interface Making {
  readonly base: Python;
  readonly directory: string;
  readonly gpu: boolean;
  readonly say: (line: string, done?: number) => void;
  readonly signal: AbortSignal | undefined;
}

async function make(
  pins: EnvironmentPins,
  { base, directory, gpu, say, signal }: Making,
): Promise<void> {
  const started = performance.now();
  checkDisk(pins, directory);
  rmSync(directory, { recursive: true, force: true });
  try {
    say(`making a virtual environment with Python ${base.version}`);
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
    const attempt = `install the packages of the environment ${pins.name}`;
    const options = { attempt, onLine: count, signal };
    if (!empty) await pip(python, [...args, "-r", pins.requirements_path], options);
    say("importing what it holds", done);
    await checkImports(python, pins);
    const seconds = Math.round((performance.now() - started) / 1000);
    const facts = { name: pins.name, hash: pins.hash, python: base.version, gpu, seconds };
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

/** What the making of a ready environment said: its Python, seconds, and whether for a GPU. */
export function readyFacts(directory: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(directory, READY), "utf8"));
}

function interpreter(directory: string): string {
  return process.platform === "win32"
    ? join(directory, "Scripts", "python.exe")
    : join(directory, "bin", "python");
}
