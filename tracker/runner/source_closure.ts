import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { PROJECT_ROOT } from "../home.ts";

const PACKAGE = join(PROJECT_ROOT, "python-backends", "pare_backends");

async function pythonFiles(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const found = await Promise.all(entries.map((entry) => {
    const inner = join(path, entry.name);
    if (entry.isDirectory() && entry.name !== "__pycache__") return pythonFiles(inner);
    return Promise.resolve(entry.isFile() && /\.(py|jsonl)$/.test(entry.name) ? [inner] : []);
  }));
  return found.flat().sort();
}

/** sha256 over the names and contents of Python files: what a cached result was made by. */
async function hashFiles(files: readonly string[], root: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) {
    hash.update(relative(root, file)).update("\0").update(await readFile(file)).update("\0");
  }
  return hash.digest("hex");
}

/** The source that an action's result depends on: the method's file and what writes the artifact. */
export async function methodSource(
  agent: string,
  method: string,
  pythonPath: string | null,
): Promise<string> {
  const shared = [
    ...await pythonFiles(join(PACKAGE, "checkpoint")),
    join(PACKAGE, "apply.py"),
    join(PACKAGE, "knobs.py"),
  ];
  const own = pythonPath ?? join(PACKAGE, agent, `${method}.py`);
  const siblings = pythonPath === null
    ? (await pythonFiles(join(PACKAGE, agent))).filter((file) =>
      file.split("/").at(-1)!.startsWith("_")
    )
    : [];
  return await hashFiles([...shared, ...siblings, own], PACKAGE);
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
  return await hashFiles(files.flat(), PACKAGE);
}
