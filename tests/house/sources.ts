/** The sources as their own parsers see them: what the tests of the house look at. */
import { execa } from "execa";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { requirePython } from "../../python-backends/environments/python.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
/** What ships; tests are apart. */
export const SHIPPED = ["core", "plugins", "python-backends", "tracker"];

/** A file's size, what it imports and how long its functions are. */
export interface Source {
  readonly lines: number;
  /** TypeScript: paths from the root; Python: names of modules. */
  readonly imports: readonly string[];
  readonly functions: readonly (readonly [name: string, lines: number])[];
}

export interface PythonSource extends Source {
  readonly dataclasses: Record<string, Record<string, { default: boolean; names: string[] }>>;
  readonly call: { request: string; answers: string[][]; returns: number } | null;
}

/** Paths from the root of all files below folders that end so. */
export async function filesBelow(folders: readonly string[], ending: string): Promise<string[]> {
  const found = await Promise.all(folders.map(async (folder) => {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile() && entry.name.endsWith(ending))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
  }));
  return found.flat().filter((path) => !/(^|\/)(\.|node_modules\/|envs\/)/.test(path)).sort();
}

/** What deno's own parser hands over of a node. */
interface Node {
  readonly range: readonly [number, number];
  readonly id?: { readonly name: string } | null;
  readonly parent?: Node & { readonly key?: { readonly name?: string } };
  readonly source?: { readonly value: string } | null;
}

/** Deno's own parser; the types of this part of it come with its linter alone. */
const parser = (Deno as unknown as { lint: { runPlugin: (...all: unknown[]) => unknown } }).lint;

/** A TypeScript file's imports, those of types too, and its functions. */
export function parseTypeScript(path: string, text: string): Source {
  const imports = new Set<string>();
  const functions: (readonly [string, number])[] = [];
  const take = (target: unknown) => {
    if (typeof target !== "string") return;
    imports.add(
      target.startsWith(".") ? relative(ROOT, resolve(ROOT, dirname(path), target)) : target,
    );
  };
  const ofImport = (node: Node) => take(node.source?.value);
  const ofFunction = (node: Node) => {
    const lines = text.slice(...node.range).split("\n").length;
    functions.push([node.id?.name ?? node.parent?.id?.name ?? node.parent?.key?.name ?? "", lines]);
  };
  const visitor = {
    ImportDeclaration: ofImport,
    ExportAllDeclaration: ofImport,
    ExportNamedDeclaration: ofImport,
    ImportExpression: ofImport,
    FunctionDeclaration: ofFunction,
    FunctionExpression: ofFunction,
    ArrowFunctionExpression: ofFunction,
  };
  parser.runPlugin({ name: "house", rules: { read: { create: () => visitor } } }, path, text);
  return { lines: text.split("\n").length - 1, imports: [...imports], functions };
}

export async function typeScript(folders: readonly string[]): Promise<Map<string, Source>> {
  const files = await filesBelow(folders, ".ts");
  return new Map(
    await Promise.all(
      files.map(async (path) =>
        [path, parseTypeScript(path, await readFile(join(ROOT, path), "utf8"))] as const
      ),
    ),
  );
}

/** Python's files by their paths from the root, read by Python's own parser. */
export async function python(folders: readonly string[]): Promise<Map<string, PythonSource>> {
  const { path } = await requirePython();
  const program = fileURLToPath(new URL("python_facts.py", import.meta.url));
  const absolute = folders.map((folder) => join(ROOT, folder));
  const { stdout } = await execa(path, [program, ...absolute], { maxBuffer: 1e8 });
  const facts: Record<string, PythonSource> = JSON.parse(stdout);
  return new Map(Object.entries(facts).map(([file, source]) => [relative(ROOT, file), source]));
}

/** Groups of files that import each other, by Tarjan's algorithm; each sorted. */
export function circles(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): number => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    for (const next of edges.get(node) ?? []) {
      if (!edges.has(next)) continue;
      if (!index.has(next)) low.set(node, Math.min(low.get(node)!, visit(next)));
      else if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, index.get(next)!));
    }
    if (low.get(node) === index.get(node)) {
      const group = stack.splice(stack.indexOf(node)).sort();
      if (group.length > 1) found.push(group);
    }
    return low.get(node)!;
  };
  for (const node of edges.keys()) if (!index.has(node)) visit(node);
  return found.sort();
}

/** Says which exceptions of a test are needed no more. Whoever made them so may not know the list,
 * so this fails nothing: what it must not do is grow. */
export function sayGone(test: string, gone: readonly string[]): void {
  for (const one of gone) console.error(`tests/house/${test} excepts what is mended: ${one}`);
}
