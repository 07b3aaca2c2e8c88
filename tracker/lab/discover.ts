import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { makeRegistry, type Plugin, type Registry, UsageError } from "../../core/mod.ts";
import { PROJECT_ROOT } from "../ground/home.ts";
import { requireFile } from "../ground/storage/plain_file.ts";
import { checkEnvironments, pluginEnvironments } from "./plugin_environments.ts";

const KINDS = new Set(["method", "agent", "task", "scorer", "sampler", "runtime", "form"]);

function asPlugin(module: Record<string, unknown>, path: string): Plugin {
  const value = module["default"];
  if (typeof value === "object" && value !== null && "kind" in value && "name" in value) {
    if (KINDS.has(String(value.kind))) return value as Plugin; // its shape is checked by the types
  }
  throw new UsageError(
    `Cannot load plugin ${path} as its default export is not made by defineAgent, defineMethod, ` +
      `defineTask, defineScorer, defineSampler, defineRuntime or defineForm`,
  );
}

/** How long a plugin's file may take to be imported, in milliseconds: it declares, and does no work. */
const IMPORT_MS = 30_000;

/** What is imported; a file whose top level waits for something that never comes is not waited for. */
export async function inTime<T>(importing: Promise<T>, ms = IMPORT_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const sentence = `it was not imported after ${ms / 1000} s: its top level must not wait`;
    timer = setTimeout(() => reject(new Error(sentence)), ms);
  });
  try {
    return await Promise.race([importing, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function load(specifier: string, shown: string): Promise<Plugin> {
  try {
    return asPlugin(await inTime(import(specifier)), shown);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = String(error instanceof Error ? error.message : error);
    // A syntax error shows its lines and an arrow: the first says what it is, the last where.
    const lines = reason.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    const [first = "it cannot be imported"] = lines;
    const where = lines.length > 1 ? ` (${lines.at(-1)})` : "";
    throw new UsageError(`Cannot load plugin ${shown}: ${first}${where}`);
  }
}

/** The .ts files of a folder and of those in it; what begins with `_` is no plugin. */
async function builtInFiles(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const found = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const path = join(folder, name);
    if (isDirectory) return await builtInFiles(path);
    return name.endsWith(".ts") && !name.startsWith("_") ? [path] : [];
  }));
  return found.flat().sort();
}

/**
 * Imports files by one module that imports them all: each import() has what it imports looked up anew,
 * so 150 of them one by one take five times as long. What fails here is said by the import of its own.
 */
async function importTogether(files: readonly string[]): Promise<void> {
  const lines = files.map((path) => `import ${JSON.stringify(pathToFileURL(path).href)};`);
  await inTime(import(`data:text/javascript,${encodeURIComponent(lines.join("\n"))}`))
    .catch(() => {});
}

/** A third party's plugins: `npm:` specifiers are taken as they are, paths from `folder`. */
async function loadThirdParty(specifier: string, folder: string) {
  const isPath = !specifier.startsWith("npm:");
  if (isPath) requireFile(resolve(folder, specifier));
  const target = isPath ? pathToFileURL(resolve(folder, specifier)).href : specifier;
  const plugin = await load(target, specifier);
  return { path: specifier, plugin, environments: pluginEnvironments(plugin, specifier, folder) };
}

/**
 * Every plugin: the files of the folders under `plugins/`, then those that a study names.
 * A plugin that does not load, or whose name is taken, stops the start and says which file.
 */
export async function discoverPlugins(
  more: readonly string[] = [],
  folder: string = Deno.cwd(),
): Promise<Registry> {
  const files = await builtInFiles(join(PROJECT_ROOT, "plugins"));
  await importTogether(files);
  const builtIn = await Promise.all(
    files.map(async (path) => ({
      path: join(basename(dirname(path)), basename(path)),
      plugin: await load(pathToFileURL(path).href, path),
    })),
  );
  const thirdParty = await Promise.all(more.map((one) => loadThirdParty(one, folder)));
  const registry = makeRegistry([...builtIn, ...thirdParty]);
  checkEnvironments(registry);
  return registry;
}
