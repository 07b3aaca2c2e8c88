import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { unknownName, UsageError } from "../../core/mod.ts";
import { PYTHON_ROOT } from "../home.ts";

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
  /** Variables that its packages are compiled with, such as CMAKE_ARGS. */
  readonly build: Readonly<Record<string, string>>;
  /** CMake's commands that stand behind project() of what is compiled, such as a part switched off that
   * no option reaches; null: none. */
  readonly cmake: string | null;
  /** The environment that it is built on, whose packages it has beside its own; null: none. */
  readonly base: string | null;
  /** What requirements.txt names, such as numpy==2.4.6. */
  readonly packages: readonly string[];
  /** Over packages, torch version, the base's hash and what is compiled how, first 12 hex digits. */
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
  const said = readDocument(path);
  const packages = readRequirements(join(directory, "requirements.txt"));
  const parts = [
    ...[said.torch, packages, ...(said.base === null ? [] : [readPins(said.base).hash])],
    ...(Object.keys(said.build).length === 0 ? [] : [said.build]),
    ...(said.cmake === null ? [] : [said.cmake]),
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

/** Hash of an environment's pins: what an artifact's key and a study's provenance name. */
export function pinsHash(name: string, directory?: string): string {
  return readPins(name, directory).hash;
}

type Said = Omit<EnvironmentPins, "name" | "packages" | "hash">;

function readDocument(path: string): Said {
  const said = parsedDocument(path);
  const names = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((item) => typeof item === "string");
  const { summary, torch = null, imports, forbidden = [], bytes, ...more } = said;
  const { on_request = null, gpu = false, base = null, build = {}, cmake = null } = more;
  const variables = (value: unknown): value is Record<string, string> =>
    typeof value === "object" && value !== null &&
    Object.values(value).every((one) => typeof one === "string");
  const right = typeof summary === "string" && (torch === null || typeof torch === "string") &&
    names(imports) && names(forbidden) && typeof bytes === "number" &&
    (on_request === null || typeof on_request === "string") && typeof gpu === "boolean" &&
    (base === null || typeof base === "string") && variables(build) &&
    (cmake === null || typeof cmake === "string");
  if (!right) {
    throw new UsageError(
      `Cannot use ${path}: it must hold summary, imports (a list), bytes (a number) and, where they ` +
        "are wanted, base (text), torch (text), forbidden (a list), on_request (text), gpu (true " +
        "or false), cmake (text) and build (variables and their texts)",
    );
  }
  if (base !== null && torch !== null) {
    throw new UsageError(
      `Cannot use ${path}: torch is "${torch}" and base is "${base}", whose torch it has; give one ` +
        "of both",
    );
  }
  return { summary, torch, imports, forbidden, bytes, on_request, gpu, build, cmake, base };
}

function parsedDocument(path: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot use ${path}: it is no JSON (${why})`);
  }
}
