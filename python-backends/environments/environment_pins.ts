import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { unknownName, UsageError } from "../../core/mod.ts";
import { PYTHON_ROOT } from "../home.ts";

/**
 * Shared libraries out of npm packages, one for each kind of machine: package.json and deno.lock beside
 * environment.json pin them, by their hashes.
 */
export interface NpmLibraries {
  /** Folder of the libraries in node_modules, by the machine's kind, such as linux-x64. */
  readonly from: Readonly<Record<string, string>>;
  /** Folder in the environment's site-packages where Python looks for them. */
  readonly into: string;
  /** Where package.json and deno.lock lie. */
  readonly lock_directory: string;
}

/** What an environment's folder says: exact pins, and how to see that they work. */
export interface EnvironmentPins {
  readonly name: string;
  readonly summary: string;
  /** Version, without the build; null where the environment has no torch. */
  readonly torch: string | null;
  /** Modules that must import when all is installed. */
  readonly imports: readonly string[];
  /** Modules that must not be there. */
  readonly forbidden: readonly string[];
  /** Disk that it takes, roughly: asked for before anything is made. */
  readonly bytes: number;
  /** Why it is made only where it is asked for, such as minutes of compiling; null: with all. */
  readonly on_request: string | null;
  /** Whether it is of use on a machine with an NVIDIA GPU alone. */
  readonly gpu: boolean;
  /** More of pip's options, such as --config-settings=wheel.cmake=false. */
  readonly pip: readonly string[];
  /** Ready-made libraries that npm packages hold; null: none. */
  readonly libraries: NpmLibraries | null;
  /** The environment that it is built on, whose packages it has beside its own; null: none. */
  readonly base: string | null;
  /** What requirements.txt names, such as numpy==2.4.6. */
  readonly packages: readonly string[];
  /** Over packages, torch version, the base's hash, options and libraries, first 12 hex digits. */
  readonly hash: string;
}

/** Folders of the pins that plugins bring, by the environment's name. */
export type PinsFolders = ReadonlyMap<string, string>;

const ENVIRONMENTS = join(PYTHON_ROOT, "envs");

/** Names of the environments that ship. */
export function environmentNames(): string[] {
  return readdirSync(ENVIRONMENTS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
}

/** Those that are not made only where they are asked for. */
export function usualEnvironments(): string[] {
  return environmentNames().filter((name) => readPins(name).on_request === null);
}

/** Where the pins of an environment that ships lie. */
export function pinsDirectory(name: string): string {
  return join(ENVIRONMENTS, name);
}

/** Reads an environment's pins; `directory` where a third party brings its own. */
export function readPins(
  name: string,
  directory: string = pinsDirectory(name),
): EnvironmentPins {
  const path = join(directory, "environment.json");
  if (!existsSync(path)) {
    throw new UsageError(unknownName("environment", name, environmentNames()));
  }
  const said = readDocument(path, directory);
  const packages = readRequirements(join(directory, "requirements.txt"));
  const parts = [
    ...[said.torch, packages, ...(said.base === null ? [] : [readPins(said.base).hash])],
    ...(said.pip.length === 0 ? [] : [said.pip]),
    ...(said.libraries === null ? [] : [lockOf(said.libraries)]),
  ];
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  return { name, ...said, packages, hash: hash.slice(0, 12) };
}

/** The pins of a file: an exact version on every line that is no comment. */
function readRequirements(path: string): string[] {
  if (!existsSync(path)) throw new UsageError(`Cannot use ${path}: there is no such file`);
  const lines = readFileSync(path, "utf8").split("\n").map((line) => line.trim());
  const pins = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const loose = pins.find((line) => !/^[\w.-]+==[\w.!-]+$/.test(line));
  if (loose === undefined) return pins;
  throw new UsageError(
    `Cannot use ${path}: "${loose}" is no exact pin; every line must name a package and its ` +
      "version, such as numpy==2.4.6",
  );
}

/** What of the libraries counts in the hash: no path of this machine. */
function lockOf({ from, into, lock_directory }: NpmLibraries) {
  return [from, into, readFileSync(join(lock_directory, "deno.lock"), "utf8")];
}

/** Hash of an environment's pins: what an artifact's key and a study's provenance name. */
export function pinsHash(name: string, directory?: string): string {
  return readPins(name, directory).hash;
}

type Said = Omit<EnvironmentPins, "name" | "packages" | "hash">;

const names = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

function isLibraries(value: unknown): value is Pick<NpmLibraries, "from" | "into"> {
  const { from, into } = Object(value);
  return typeof into === "string" && typeof from === "object" && names(Object.values(from));
}

function readDocument(path: string, directory: string): Said {
  const said = parsedDocument(path);
  const { summary, torch = null, imports, forbidden = [], bytes, ...more } = said;
  const { on_request = null, gpu = false, base = null, pip = [], libraries = null } = more;
  const right = typeof summary === "string" && (torch === null || typeof torch === "string") &&
    names(imports) && names(forbidden) && typeof bytes === "number" &&
    (on_request === null || typeof on_request === "string") && typeof gpu === "boolean" &&
    (base === null || typeof base === "string") && names(pip) &&
    (libraries === null || isLibraries(libraries));
  if (!right) {
    throw new UsageError(
      `Cannot use ${path}: it must hold summary, imports (a list), bytes (a number) and, where they ` +
        "are wanted, base (text), torch (text), forbidden (a list), on_request (text), gpu (true " +
        "or false), pip (a list of options) and libraries (from: folders by machine; into: a folder)",
    );
  }
  if (base !== null && torch !== null) {
    throw new UsageError(
      `Cannot use ${path}: torch is "${torch}" and base is "${base}", whose torch it has; give one ` +
        "of both",
    );
  }
  const found = libraries === null ? null : { ...libraries, lock_directory: directory };
  return {
    summary,
    torch,
    imports,
    forbidden,
    bytes,
    on_request,
    gpu,
    pip,
    libraries: found,
    base,
  };
}

function parsedDocument(path: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot use ${path}: it is no JSON (${why})`);
  }
}
