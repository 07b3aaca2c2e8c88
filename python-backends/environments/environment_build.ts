import { execa } from "execa";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";
import type { EnvironmentPins } from "./environment_pins.ts";
import { PYTHON_ROOT } from "../home.ts";
import { writeWhole } from "../whole_file.ts";
import { addLibraries, PLATFORM } from "./npm_libraries.ts";
import { packageFolders } from "./package_folders.ts";
import { lastWords, pip } from "./pip.ts";
import type { Python } from "./python.ts";
import { installTorch } from "./torch_wheel.ts";

/** Written last: a folder without it is half-built and made anew. */
export const READY = ".ready";

/** The Python of a virtual environment. */
export function interpreter(directory: string): string {
  return process.platform === "win32"
    ? join(directory, "Scripts", "python.exe")
    : join(directory, "bin", "python");
}

/** How many packages are installed, torch with them. */
export function packagesOf({ packages, torch }: EnvironmentPins): number {
  return packages.length + (torch === null ? 0 : 1);
}

interface Making {
  /** Makes the environment: the machine's, or that of the environment that it is built on. */
  readonly python: Python;
  readonly directory: string;
  readonly gpu: boolean;
  readonly say: (line: string, done?: number) => void;
  readonly signal: AbortSignal | undefined;
}

/** Makes an environment in an empty folder; whatever fails leaves none behind. */
export async function buildEnvironment(
  pins: EnvironmentPins,
  { python: maker, directory, gpu, say, signal }: Making,
): Promise<void> {
  const started = performance.now();
  checkDisk(pins, directory);
  rmSync(directory, { recursive: true, force: true });
  try {
    const on = pins.base === null ? "" : `, on the environment ${pins.base}`;
    say(`making a virtual environment with Python ${maker.version}${on}`);
    if (pins.on_request !== null) say(pins.on_request);
    const empty = pins.torch === null && pins.packages.length === 0;
    // One that is built on another is filled by the pip of that one.
    const bare = empty || pins.base !== null;
    await makeVenv(maker.path, directory, pins.name, bare ? ["--without-pip"] : []);
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
    // The pins that were checked, not the file: pip reads more in one than lines of pins.
    const install = [...args, ...pins.pip, ...pins.packages];
    if (!empty && pins.base === null) await pip(python, install, options);
    if (!empty && pins.base !== null) {
      await pip(maker.path, ["--python", python, ...install], options);
    }
    // Afterwards: pip would take what the base has for what is installed here.
    if (pins.base !== null) await addBase(python, maker.path, pins.name);
    if (pins.libraries !== null) {
      say("fetching ready-made libraries", done);
      await addLibraries(pins.name, pins.libraries, { directory, python, signal });
    }
    say("importing what it holds", done);
    await checkImports(python, pins);
    const seconds = Math.round((performance.now() - started) / 1000);
    const facts = {
      name: pins.name,
      hash: pins.hash,
      python: maker.version,
      minor: maker.minor,
      base: pins.base === null ? null : maker.path,
      gpu,
      platform: PLATFORM,
      seconds,
    };
    // Thousands of files, of which what says that they are whole must not be on disk before.
    await execa("sync", ["-f", directory], { reject: false });
    writeWhole(join(directory, READY), facts);
    say(`ready after ${seconds} s`, packagesOf(pins));
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

/** Lets an environment import what another one holds, after its own packages. */
async function addBase(python: string, base: string, name: string): Promise<void> {
  const [own] = await packageFolders(python, name);
  if (own === undefined) throw new Error(`Cannot find the folder of packages of ${python}`);
  // site runs lines that begin so: files of the base that end in .pth are read too.
  const lines = (await packageFolders(base, name)).map((folder) =>
    `import site; site.addsitedir(${JSON.stringify(folder)})\n`
  );
  writeFileSync(join(own, "pare_base.pth"), lines.join(""));
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
