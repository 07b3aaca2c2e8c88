/** What a file exports, somebody uses: another file of the product, or its own file and a test. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { filesBelow, ROOT, SHIPPED } from "./sources.ts";

/** Whoever extends pare, or asks it from a notebook, imports from these. */
const PUBLIC = /^core\/(contract|schemas)\/|^(core|tracker)\/mod\.ts$/;

/** Used by tests alone, with the reason. */
const FOR_TESTS: Readonly<Record<string, string>> = {
  "core/random.ts seededRandom": "whoever tries a sampler draws by it: 26 tests and benchmarks do",
  "tracker/store/index/schema.ts schemaHash": "a test holds SCHEMA_HASH to the files by it",
};

const DECLARED =
  /^export (?:abstract )?(?:async )?(function\*?|const|let|class|interface|type|enum) (\w+)/gm;

interface Read {
  readonly path: string;
  readonly own: { readonly kind: string; readonly name: string }[];
  /** How often each word stands in it, its comments left out. */
  readonly words: ReadonlyMap<string, number>;
}

export function readExports(path: string, text: string): Read {
  const bare = text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, "");
  const words = new Map<string, number>();
  for (const [word] of bare.matchAll(/\w+/g)) words.set(word, (words.get(word) ?? 0) + 1);
  const own = [...bare.matchAll(DECLARED)].map(([, kind, name]) => ({ kind: kind!, name: name! }));
  return { path, own, words };
}

/** A sentence an export that nobody uses. */
export function unused(product: readonly Read[], tests: readonly Read[]): string[] {
  const holders = new Map<string, number>();
  for (const { path, words } of product) {
    if (path === "core/mod.ts") continue; // it hands all on
    for (const word of words.keys()) holders.set(word, (holders.get(word) ?? 0) + 1);
  }
  const tested = new Set(tests.flatMap(({ words }) => [...words.keys()]));
  return product.filter(({ path }) => !PUBLIC.test(path)).flatMap(({ path, own, words }) =>
    own.flatMap(({ kind, name }) => {
      if (holders.get(name)! > 1 || `${path} ${name}` in FOR_TESTS) return [];
      const here = words.get(name)! > 1;
      if (!here) return [`${path}: ${tested.has(name) ? "only tests use" : "nobody uses"} ${name}`];
      // A type may name what its file's functions take and give.
      const named = kind === "interface" || kind === "type" || tested.has(name);
      return named ? [] : [`${path}: only this file uses ${name}, which it need not export`];
    })
  );
}

async function readAll(folders: readonly string[]): Promise<Read[]> {
  const files = [...await filesBelow(folders, ".ts"), ...await filesBelow(folders, ".js")];
  return await Promise.all(
    files.map(async (path) => readExports(path, await readFile(join(ROOT, path), "utf8"))),
  );
}

Deno.test("every export of the product has somebody who uses it", async () => {
  const [product, tests] = [await readAll(SHIPPED), await readAll(["tests"])];
  assert.ok(product.length > 500 && tests.length > 300, "the walk is broken");
  assert.deepEqual(unused(product, tests), []);
});

Deno.test("the rule sees what nobody uses, what only tests use, and what its file alone does", () => {
  const product = [
    readExports(
      "core/a.ts",
      `/** dead of the comment */
export function dead() {}
export const tried = 1;
export const inner = 2;
export interface Named {}
export async function used(of: Named) { return inner; }`,
    ),
    readExports("tracker/b.ts", `import { used } from "../core/a.ts"; // dead`),
  ];
  assert.deepEqual(unused(product, [readExports("tests/a_test.ts", "tried")]), [
    "core/a.ts: nobody uses dead",
    "core/a.ts: only tests use tried",
    "core/a.ts: only this file uses inner, which it need not export",
  ]);
});
