import { execa } from "execa";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import process from "node:process";

/**
 * Gives `work` and all that it starts a temporary folder, which goes with everything in it and
 * mounted below it: a test that is killed removes nothing.
 */
export async function inTemporaryFolder<T>(work: () => Promise<T>): Promise<T> {
  const before = process.env["TMPDIR"];
  // Short: the path of a socket in it may have 107 characters at most.
  const folder = await mkdtemp(join(await realpath(tmpdir()), "pare-tests-"));
  process.env["TMPDIR"] = folder;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    for (const path of await mountsBelow(folder)) await execa("umount", ["--lazy", path]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Where file systems are mounted below a folder, the innermost first; only Linux can say. */
async function mountsBelow(folder: string): Promise<string[]> {
  const table = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  return table.split("\n").map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(folder + sep)).reverse();
}
