/** What a test file needs before it may begin: environments, by name, and the models. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** The demo's model and the tiny one, trained. */
export const MODELS = "models";

/** Folders whose tests start no worker. */
const PURE = /^tests\/(core|run|house|layers_test|benchmarks\/.*_table_test)/;
/** What nearly every other file needs, by way of what it imports. */
const USUAL = ["default", "openvino_export", "llama_cpp", MODELS];

/**
 * The usual ones, and those whose name stands in the file or in what it imports from tests/: to wait
 * for one too many costs little, and a file that waits for one too few makes it itself.
 */
export function needsOf(root: string, file: string, environments: readonly string[]): string[] {
  if (PURE.test(file)) return [];
  const text = closureText(root, file, new Set());
  const named = environments.filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  return [...new Set([...USUAL, ...named])].sort();
}

/** The texts of a file and of all that it imports below tests/. */
function closureText(root: string, file: string, seen: Set<string>): string {
  if (seen.has(file) || !file.startsWith("tests/") || !existsSync(join(root, file))) return "";
  seen.add(file);
  const text = readFileSync(join(root, file), "utf8");
  const imported = [...text.matchAll(/["'](\.{1,2}\/[^"']+\.ts)["']/g)]
    .map(([, path]) => normalize(join(dirname(file), path!)));
  return [text, ...imported.map((path) => closureText(root, path, seen))].join("\n");
}
