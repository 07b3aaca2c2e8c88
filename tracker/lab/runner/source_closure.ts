import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import process from "node:process";
import type { Method, Runtime } from "../../../core/mod.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";

const PACKAGE = join(PROJECT_ROOT, "python-backends", "pare_backends");
const STAGES = join(PACKAGE, "calls");

async function pythonFiles(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const found = await Promise.all(entries.map((entry) => {
    const inner = join(path, entry.name);
    if (entry.isDirectory() && entry.name !== "__pycache__") return pythonFiles(inner);
    return Promise.resolve(entry.isFile() && /\.(py|jsonl)$/.test(entry.name) ? [inner] : []);
  }));
  return found.flat().sort();
}

/** A source as it was read, and the modules of the package that it names. */
interface Source {
  /** Another one where the file was changed. */
  readonly stamp: string;
  readonly bytes: Uint8Array;
  readonly modules: readonly string[];
}

/** Every call of every trial asks for the same hundreds of files. */
const read = new Map<string, Source>();

/** A file's source, read again where it was changed; null: there is no such file. */
function sourceOf(file: string): Source | null {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile()) return null;
  const stamp = [stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs].join(" ");
  const known = read.get(file);
  if (known?.stamp === stamp) return known;
  const bytes = readFileSync(file);
  const found = { stamp, bytes, modules: namedModules(bytes.toString("utf8")) };
  read.set(file, found);
  return found;
}

/** sha256 over the names and contents of Python files: what a cached result was made by. */
function hashFiles(files: readonly string[], root: string): string {
  const hash = createHash("sha256");
  for (const file of files) {
    const { bytes } = sourceOf(file)!; // it was there a moment ago
    hash.update(relative(root, file)).update("\0").update(bytes).update("\0");
  }
  return hash.digest("hex");
}

const IMPORTS =
  /^[ \t]*(?:from[ \t]+(pare_backends[\w.]*)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n#]*))|import[ \t]+(pare_backends[\w.]*))/gm;

/** Modules of the package that a Python source names; what is no module of it is left out later. */
function namedModules(source: string): string[] {
  return [...source.matchAll(IMPORTS)].flatMap(([, from, inside, line, plain]) => {
    if (from === undefined) return plain === undefined ? [] : [plain];
    const names = (inside ?? line ?? "").split(",").map((name) => name.trim().split(/\s/)[0] ?? "");
    return [from, ...names.map((name) => `${from}.${name}`)];
  });
}

/** The files of the package that these ones import, themselves included, in the order of names. */
export function importClosure(files: readonly string[], root: string = PACKAGE): string[] {
  const found = new Set<string>();
  const open = [...files];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    const source = sourceOf(file);
    if (source === null) continue; // a name of a module, not a module
    found.add(file);
    for (const module of source.modules) {
      const path = join(root, ...module.split(".").slice(1));
      open.push(`${path}.py`, join(path, "__init__.py"));
    }
  }
  return [...found].sort();
}

/**
 * The source that an action's result depends on: the method's file, the call, all they import, and files of
 * the user's own that the method may run. installed: those of packages that the user names
 */
export async function methodSource(
  agent: string,
  { name, needs }: Pick<Method, "name" | "needs">,
  pythonPath: string | null,
  installed: readonly string[] = [],
): Promise<string> {
  const own = pythonPath ?? join(PACKAGE, agent, `${name}.py`);
  const source = hashFiles(importClosure([join(STAGES, "apply.py"), own]), PACKAGE);
  const named = needs.own_code === undefined ? undefined : process.env[needs.own_code];
  if (named === undefined || named === "") return source;
  // What cannot be read is refused where it is run, in a sentence.
  const paths = [...named.split(",").map((path) => path.trim()), ...installed];
  const codes = paths.map((path) => readFile(path).catch(() => ""));
  const hash = createHash("sha256").update(source).update(named);
  for (const code of await Promise.all(codes)) hash.update("\0").update(code);
  return hash.digest("hex");
}

/** The source that a call's result depends on: its file, such as `evaluate.py`, and its imports. */
export function callSource(file: string): string {
  return hashFiles(importClosure([join(STAGES, file)]), PACKAGE);
}

/** The folder of a runtime's Python half. */
export function runtimeFolder({ name, python_dir }: Pick<Runtime, "name" | "python_dir">): string {
  return python_dir ?? join(PACKAGE, "runtimes", name.replaceAll(".", "_"));
}

/** The source that a runtime's form depends on: its `make.py` and its imports; of a third party all. */
export async function formSource(runtime: Pick<Runtime, "name" | "python_dir">): Promise<string> {
  const folder = runtimeFolder(runtime);
  const own = runtime.python_dir === undefined
    ? [join(folder, "make.py")]
    : await pythonFiles(folder);
  return hashFiles(importClosure(own), PACKAGE);
}

/** The fields of a call's request that name a runtime. */
export function namedRuntime({ name, python_dir }: Runtime) {
  return { runtime: name, ...(python_dir === undefined ? {} : { runtime_dir: python_dir }) };
}

/** The source of a whole folder or file of the package, such as `models`. */
export async function packageSource(...names: string[]): Promise<string> {
  const files = await Promise.all(
    names.map((name) =>
      name.endsWith(".py")
        ? Promise.resolve([join(PACKAGE, name)])
        : pythonFiles(join(PACKAGE, name))
    ),
  );
  return hashFiles(files.flat(), PACKAGE);
}
