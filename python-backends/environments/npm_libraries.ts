import { execa } from "execa";
import { copyFileSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";
import type { NpmLibraries } from "./environment_pins.ts";
import { lastWords } from "./pip.ts";
import { packageFolders } from "./package_folders.ts";

/** The kind of machine, such as linux-x64. */
export const PLATFORM = `${process.platform}-${process.arch}`;

/** A library's version in its file's name: libllama.v0.5.0.so. */
const VERSION = /\.v\d+(\.\d+)*(?=\.so$)/;

/**
 * Copies ready-made libraries out of npm packages to where an environment's Python looks for them. Deno
 * fetches them, by the hashes of deno.lock and from the registry that it has all else from.
 */
export async function addLibraries(
  name: string,
  { from, into, lock_directory }: NpmLibraries,
  { directory, python, signal }: {
    /** The environment's. */
    directory: string;
    python: string;
    signal: AbortSignal | undefined;
  },
): Promise<void> {
  const folder = from[PLATFORM];
  if (folder === undefined) {
    throw new UsageError(
      `Cannot make the Python environment ${name} on ${PLATFORM}: its libraries are there for ` +
        `${Object.keys(from).join(" and ")}; PARE_ENV_${name.toUpperCase()} takes an interpreter ` +
        "with libraries that you compiled",
    );
  }
  const fetched = join(directory, "npm");
  mkdirSync(fetched);
  for (const file of ["package.json", "deno.lock"]) {
    copyFileSync(join(lock_directory, file), join(fetched, file));
  }
  // Of its own, as a deno.json further up would be taken.
  writeFileSync(join(fetched, "deno.json"), JSON.stringify({ nodeModulesDir: "auto" }));
  const made = await execa(process.execPath, ["install", "--frozen", "--quiet"], {
    cwd: fetched,
    reject: false,
    stdin: "ignore",
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  if (made.failed) {
    throw new UsageError(
      `Cannot fetch the libraries of the environment ${name}: ` +
        (made.isCanceled ? "it was cancelled" : lastWords(made.stderr)),
    );
  }
  const [packages] = await packageFolders(python, name);
  copyLibraries(join(fetched, "node_modules", folder), join(packages!, into));
  rmSync(fetched, { recursive: true });
}

/** Every library under its own name, and under the one without a version. */
function copyLibraries(from: string, into: string): void {
  mkdirSync(into, { recursive: true });
  for (const file of readdirSync(from).filter((file) => file.endsWith(".so"))) {
    copyFileSync(join(from, file), join(into, file));
    if (VERSION.test(file)) symlinkSync(file, join(into, file.replace(VERSION, "")));
  }
}
