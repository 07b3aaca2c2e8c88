import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";
import { buildEnvironment, interpreter, packagesOf, READY } from "./environment_build.ts";
import { type EnvironmentPins, pinsHash, readPins } from "./environment_pins.ts";
import { withFileLock } from "../file_lock.ts";
import { pareHome } from "../home.ts";
import { readWhole } from "../whole_file.ts";
import { PLATFORM } from "./npm_libraries.ts";
import { findPython, noPythonSentence, type Python, requirePython } from "./python.ts";
import { hasGpu } from "./torch_wheel.ts";

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
  /** Refuse to make one, as pip would fetch its packages. */
  readonly offline?: boolean;
  /** A third party's folder with requirements.txt and environment.json; undefined: one that ships. */
  readonly pins_directory?: string | undefined;
  readonly onProgress?: OnEnvironmentProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Interpreter that `PARE_ENV_<NAME>` names, such as PARE_ENV_DEFAULT: for an environment that is
 * managed by hand. Its pins are then the user's affair. */
function overriddenPython(name: string): string | null {
  const variable = overrideVariable(name);
  const path = process.env[variable];
  if (!path) return null;
  if (!existsSync(path)) throw new UsageError(`Cannot use ${variable}: there is no ${path}`);
  return path;
}

/**
 * Hash of the pins of what an environment's name stands for now; where a variable names an
 * interpreter, of those that it was made of, or "override" where pare did not make it.
 */
export function usedHash(name: string, pins_directory?: string): string {
  const override = overriddenPython(name);
  if (override === null) return pinsHash(name, pins_directory);
  const directory = join(dirname(override), "..");
  return String(readyFacts(directory).hash ?? "override");
}

/** The variable that names an environment's interpreter. */
export function overrideVariable(name: string): string {
  return `PARE_ENV_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** What an environment differs by beside its pins. */
interface Place {
  readonly home: string;
  readonly minor: string;
  readonly gpu: boolean;
  /** Interpreter of the environment that it is built on; null: of none. */
  readonly base: string | null;
}

/** Where an environment lies or will lie: its name, and what its packages depend on. */
export function environmentDirectory(
  pins: EnvironmentPins,
  { home, minor, gpu, base = null }: Omit<Place, "base"> & { base?: string | null },
): string {
  const key = [pins.hash, minor, gpu, PLATFORM, ...(base === null ? [] : [base])];
  const hash = createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 12);
  return join(home, "envs", `${pins.name}-${hash}`);
}

/** The environment, made on first use: minutes and gigabytes then, milliseconds afterwards. */
export async function ensureEnvironment(
  name: string,
  { home = pareHome(), offline = false, pins_directory, onProgress = () => {}, signal }:
    EnsureOptions = {},
): Promise<Environment> {
  const override = overriddenPython(name);
  if (override !== null) return { name, python: override, hash: "override", directory: null };
  const pins = readPins(name, pins_directory);
  const gpu = (pins.torch !== null || pins.gpu) && await hasGpu();
  if (pins.gpu && !gpu) {
    throw new UsageError(
      `Cannot make the Python environment ${name} here: it needs an NVIDIA GPU, and nvidia-smi ` +
        "finds none",
    );
  }
  const making = { home, offline, onProgress, signal };
  const base = pins.base === null ? null : (await ensureEnvironment(pins.base, making)).python;
  // Asking which Python there is takes longer than all the rest; PARE_PYTHON asks for a certain one.
  const asked = base === null && process.env.PARE_PYTHON ? await requirePython() : null;
  const there = findReady(pins, { home, gpu, base, minor: asked?.minor ?? null });
  if (there !== null) return there;
  if (offline) throw new UsageError(notMade(name, home));
  const python = asked ?? (base === null ? await requirePython() : await pythonOfBase(base));
  const directory = environmentDirectory(pins, { home, minor: python.minor, gpu, base });
  const environment = { name, python: interpreter(directory), hash: pins.hash, directory };

  const say = (line: string, done = 0) =>
    onProgress({ environment: name, line, done, total: packagesOf(pins) });
  const { path, guard } = makingLock(directory);
  mkdirSync(guard, { recursive: true });
  await withFileLock(path, {
    signal,
    guard,
    onWait: () => say("another process is making it; waiting"),
  }, async () => {
    if (isReady(directory)) return; // made while we waited
    await buildEnvironment(pins, { python, directory, gpu, say, signal });
  });
  return environment;
}

/** What one maker of an environment holds: others are made beside it, as compiling takes minutes. */
export function makingLock(directory: string): { path: string; guard: string } {
  return {
    path: `${directory}.lock`,
    guard: join(dirname(directory), "..", ".making", basename(directory)),
  };
}

/** The interpreter of a base, which must be able to make environments too. */
async function pythonOfBase(path: string): Promise<Python> {
  const { python, tried } = await findPython([path]);
  if (python === null) throw new UsageError(noPythonSentence(tried));
  return { ...python, path }; // as it was named: what is built on it is found again by that
}

function notMade(name: string, home: string): string {
  return `Cannot make the environment ${name} with --offline as pip would fetch its packages: run ` +
    `once without, which keeps it in ${join(home, "envs")}, or name a Python that has them by ` +
    overrideVariable(name);
}

/** Whether an environment is there, without making it. */
export async function findEnvironment(
  name: string,
  home: string = pareHome(),
  pins_directory?: string,
): Promise<Environment | null> {
  const override = overriddenPython(name);
  if (override !== null) return { name, python: override, hash: "override", directory: null };
  const pins = readPins(name, pins_directory);
  const base = pins.base === null ? null : await findEnvironment(pins.base, home);
  if (pins.base !== null && base === null) return null;
  const asked = base === null && process.env.PARE_PYTHON ? await requirePython() : null;
  const gpu = pins.torch !== null && await hasGpu();
  const place = { home, gpu, base: base?.python ?? null, minor: asked?.minor ?? null };
  return findReady(pins, place);
}

/** A ready environment of these pins, made with this minor version of Python or, null, any. */
function findReady(
  pins: EnvironmentPins,
  { home, gpu, base, minor }: Omit<Place, "minor"> & { minor: string | null },
): Environment | null {
  const folder = join(home, "envs");
  for (const entry of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const directory = join(folder, entry);
    if (!entry.startsWith(`${pins.name}-`) || !isReady(directory)) continue;
    const facts = readyFacts(directory);
    const fits = facts.hash === pins.hash && facts.gpu === gpu && facts.platform === PLATFORM &&
      isSameBase(facts.base ?? null, base);
    if (fits && (minor === null || facts.minor === minor)) {
      return { name: pins.name, python: interpreter(directory), hash: pins.hash, directory };
    }
  }
  return null;
}

/** Whether two paths are of one base, which a link to a home or to its environments names otherwise. */
function isSameBase(recorded: unknown, base: string | null): boolean {
  if (typeof recorded !== "string" || base === null || recorded === base) return recorded === base;
  return [recorded, base].every(existsSync) && basename(recorded) === basename(base) &&
    realpathSync(dirname(recorded)) === realpathSync(dirname(base));
}

/** Built to its end, by a Python that is still there: else the interpreter's link leads nowhere. */
function isReady(directory: string): boolean {
  return "hash" in readyFacts(directory) && existsSync(interpreter(directory));
}

/** What the making of a ready environment said: its Python, seconds, and whether for a GPU; of another: nothing. */
export function readyFacts(directory: string): Record<string, unknown> {
  const facts: unknown = readWhole(join(directory, READY));
  return typeof facts === "object" && facts !== null ? { ...facts } : {};
}
