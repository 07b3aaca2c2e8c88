import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** A folder for one test's files; it goes when all tests of its file have ended. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `pare-${name}-`));
  made.push(folder);
  return folder;
}

globalThis.addEventListener("unload", () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});
