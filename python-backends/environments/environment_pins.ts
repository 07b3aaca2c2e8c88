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
  readonly requirements_path: string;
  /** Packages that requirements.txt names. */
  readonly packages: number;
  /** Over requirements and torch version, first 12 hex digits: changes with any pin. */
  readonly hash: string;
}

const ENVIRONMENTS = join(PYTHON_ROOT, "envs");

/** Environments that studies need; the others are for developers, readers and a local server. */
export const STUDY_ENVIRONMENTS: readonly string[] = ["default", "openvino_export"];

/** Names of the environments that ship. */
export function environmentNames(): string[] {
  return readdirSync(ENVIRONMENTS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
}

/** Those that are not made only where they are asked for. */
export function usualEnvironments(): string[] {
  return environmentNames().filter((name) => readPins(name).on_request === null);
}

/** Reads an environment's pins; `directory` where a third party brings its own. */
export function readPins(
  name: string,
  directory: string = join(ENVIRONMENTS, name),
): EnvironmentPins {
  const path = join(directory, "environment.json");
  if (!existsSync(path)) {
    throw new UsageError(unknownName("environment", name, environmentNames()));
  }
  const requirements_path = join(directory, "requirements.txt");
  const requirements = readFileSync(requirements_path, "utf8");
  const said = readDocument(path);
  const pins = requirements.split("\n").filter((line) => /^[^#\s]/.test(line));
  const loose = pins.find((line) => !/^[\w.-]+==[\w.!-]+$/.test(line.trim()));
  if (loose !== undefined) {
    throw new UsageError(`Cannot use ${requirements_path}: "${loose}" is no exact pin`);
  }
  const hash = createHash("sha256").update(JSON.stringify([said.torch, pins])).digest("hex");
  return { name, ...said, requirements_path, packages: pins.length, hash: hash.slice(0, 12) };
}

/** Hash of an environment's pins: what an artifact's key and a study's provenance name. */
export function pinsHash(name: string, directory?: string): string {
  return readPins(name, directory).hash;
}

function readDocument(
  path: string,
): Pick<
  EnvironmentPins,
  "summary" | "torch" | "imports" | "forbidden" | "bytes" | "on_request" | "gpu"
> {
  const said: Record<string, unknown> = JSON.parse(readFileSync(path, "utf8"));
  const names = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((item) => typeof item === "string");
  const { summary, torch, imports, forbidden, bytes, on_request = null, gpu = false } = said;
  const right = typeof summary === "string" && (torch === null || typeof torch === "string") &&
    names(imports) && names(forbidden) && typeof bytes === "number" &&
    (on_request === null || typeof on_request === "string") && typeof gpu === "boolean";
  if (!right) {
    throw new UsageError(
      `Cannot use ${path}: it must hold summary, torch (text or null), imports, forbidden ` +
        `(lists of names) and bytes, and may hold on_request (text) and gpu (true or false)`,
    );
  }
  return { summary, torch, imports, forbidden, bytes, on_request, gpu };
}
