/** Bugs planted in a copy of the project: a loop that does not find its own is decoration. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { execa } from "execa";
import { unknownName, UsageError } from "../../core/mod.ts";

export const ROOT = resolve(import.meta.dirname!, "../..");
const FOLDER = join(import.meta.dirname!, "planted");
const ENDING = ".patch";

/** A bug, and the loop that must find it: the first line of its patch says which. */
interface Planted {
  readonly name: string;
  readonly loop: string;
  readonly path: string;
}

export function plantedBugs(): Planted[] {
  return readdirSync(FOLDER).filter((name) => name.endsWith(ENDING)).sort().map((file) => {
    const path = join(FOLDER, file);
    const [, loop] = /^loop: (\w+)\n/.exec(readFileSync(path, "utf8")) ?? [];
    if (loop === undefined) throw new Error(`${path} does not begin with "loop: NAME"`);
    return { name: file.slice(0, -ENDING.length), loop, path };
  });
}

async function copyTree(to: string): Promise<void> {
  const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await execa("git", listed, { cwd: ROOT });
  for (const path of stdout.split("\0").filter((one) => one !== "" && !one.startsWith("shared/"))) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    await copyFile(join(ROOT, path), join(to, path));
  }
}

/** Runs the bug's loop in a copy with it until something is found; the line that says so, or null. */
async function foundIn(tree: string, { loop }: Planted, budget: string): Promise<string | null> {
  const script = join(tree, "tests/faults/faults.ts");
  const words = ["run", "--quiet", "--allow-all", "--no-check", script];
  const asked = ["--loop", loop, "--budget", budget, "--until-failure", "--fresh"];
  const state = ["--state", join(tree, "faults.json")];
  const { stdout } = await execa(Deno.execPath(), [...words, ...asked, ...state], {
    ...{ cwd: tree, reject: false, stderr: "ignore" },
  });
  return stdout.split("\n").find((line) => line.startsWith("FAILED ")) ?? null;
}

/**
 * Plants each bug, or those of these names, in a copy of its own, and says which point found it.
 *
 * @returns how many were not found
 */
export async function findPlanted(names: readonly string[], budget: string): Promise<number> {
  const all = plantedBugs();
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new UsageError(unknownName("planted bug", unknown, all.map(({ name }) => name)));
  }
  let missed = 0;
  for (const bug of all.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const tree = mkdtempSync(join(tmpdir(), "pare-planted-"));
    try {
      await copyTree(tree);
      await execa("git", ["apply", "-p0", bug.path], { cwd: tree });
      const began = performance.now();
      const found = await foundIn(tree, bug, budget);
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      if (found === null) missed++;
      console.log(
        `${bug.name}: ${found === null ? `NOT FOUND in ${budget}` : found}  [${seconds} s]`,
      );
    } finally {
      rmSync(tree, { recursive: true, force: true });
    }
  }
  return missed;
}
