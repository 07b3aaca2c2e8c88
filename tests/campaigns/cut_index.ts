import assert from "node:assert/strict";
import { join } from "node:path";
import { openDatabase } from "../../tracker/store/index/open_database.ts";
import { openStore } from "../../tracker/store/store.ts";
import { contents, copyStore } from "../fixtures/stores/contents.ts";
import { answersAfter, wholeStore } from "../fixtures/stores/cut_index.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

/** What DuckDB writes at a time, and what the file's header is made of. */
const BLOCK = 262_144;
const SECTOR = 4096;

Deno.test("An index cut at a block is made anew, and every answer stays", () =>
  inDirectory(async (directory) => {
    const whole = await wholeStore(directory);
    const { bytes } = whole;
    // Every fourth block, and the last ones: those between lose what these lose.
    for (let at = 3 * SECTOR; at < bytes.length; at += BLOCK) {
      const block = Math.floor(at / BLOCK);
      if (block % 4 !== 0 && at + 3 * BLOCK < bytes.length) continue;
      const cut = (path: string) => Deno.writeFile(path, bytes.subarray(0, at));
      await answersAfter(whole, join(directory, "copy"), cut, `cut at ${at} of ${bytes.length}`);
    }
  }));

/** Where to cut: at every sector of the headers and of the last blocks, at a fifth of the others,
 * which meet every place of a block. */
function cuts(size: number): number[] {
  const all = Array.from({ length: Math.ceil(size / SECTOR) }, (_, n) => n * SECTOR);
  return all.filter((at, n) => at <= BLOCK || at >= size - 2 * BLOCK || n % 5 === 0);
}

Deno.test("An index cut at any sector is known as damaged, or has lost nothing", () =>
  inDirectory(async (directory) => {
    const { root, bytes, expected } = await wholeStore(directory);
    const path = join(directory, "cut.duckdb");
    const opens = new Set<number>();
    for (const at of cuts(bytes.length)) {
      await Deno.writeFile(path, bytes.subarray(0, at));
      for (const readOnly of [true, false]) {
        const opened = await openDatabase(path, { readOnly });
        if ("obstacle" in opened) assert.equal(opened.obstacle, "damaged", `cut at ${at}`);
        else {
          opened.close();
          opens.add(at);
        }
      }
    }
    // Cut within its last block it opens, and is found out when that block is asked for, if ever.
    for (const at of [...opens].filter((_, i) => i % 8 === 0)) {
      const copy = join(directory, "copy");
      await copyStore(root, copy);
      await Deno.writeFile(join(copy, "pare.duckdb"), bytes.subarray(0, at));
      await using store = await openStore(copy, { write: false });
      assert.deepEqual(await contents(store), expected, `opens when cut at ${at}`);
      await Deno.remove(copy, { recursive: true });
    }
  }));
