/** A folder that takes long to make, kept by its key: it is whole, or not there and made again. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { sometimes } from "../loop.ts";
import { acknowledge, type Workload } from "./workload.ts";

const FILES: Readonly<Record<string, string>> = {
  "facts.json": "{}",
  "model/model.safetensors": "weights ".repeat(200),
};

/** Puts it there where it is not; gives what lies there, and whether it was made. */
async function kept(root: string): Promise<{ found: Record<string, string>; made: boolean }> {
  const { directory, made } = await openFolderCache(join(root, "cache"))
    .cached("models", "a", (folder) => {
      Deno.mkdirSync(join(folder, "model"));
      for (const [name, text] of Object.entries(FILES)) {
        Deno.writeTextFileSync(join(folder, name), text);
      }
      return Promise.resolve();
    });
  const found = Object.keys(FILES).map((name) => {
    try {
      return [name, Deno.readTextFileSync(join(directory, name))];
    } catch (error) {
      return [name, String(error)];
    }
  });
  return { found: Object.fromEntries(found), made };
}

async function work(root: string): Promise<void> {
  await kept(root);
  acknowledge("kept");
  Deno.exit(0);
}

export const cacheWorkload: Workload = {
  name: "cache",
  script: import.meta.filename!,
  adds_up: true,
  prepare(root) {
    Deno.mkdirSync(join(root, "cache"));
    return Promise.resolve();
  },
  async check(root, _acknowledged, _nth, hit) {
    if (hit?.lied === true) return; // nobody promises what a disk has lied about
    const { found, made } = await kept(root);
    assert.deepEqual(found, FILES, "half a folder is taken for the whole");
    if (!made) sometimes("a folder of the cache is whole after a power cut");
  },
};

if (import.meta.main) await work(Deno.args[0]!);
