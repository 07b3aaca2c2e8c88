/** Folders and files that a kill leaves half: what is beside them goes, and what was there stays. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeAll, writeWhole } from "../../../python-backends/whole_file.ts";
import { partialOf, putFolder } from "../../../tracker/ground/storage/whole_folder.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

/** Of no process: Linux numbers none so high. */
const GONE = 2 ** 30;

function filled(folder: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "a"), text);
  return folder;
}

Deno.test("a folder is put over the earlier one, and what killed processes left beside it goes", async () => {
  const root = temporaryFolder("whole-folder");
  const out = join(root, "out.x");
  filled(`${out}.partial-${GONE}`, "half");
  filled(`${out}.partial-${Deno.pid}`, "own");
  filled(join(root, `outsx.partial-${GONE}`), "of another");
  const partial = filled(partialOf(out), "new");
  filled(out, "earlier");
  await putFolder(partial, out);
  assert.equal(readFileSync(join(out, "a"), "utf8"), "new");
  assert.deepEqual(readdirSync(root).sort(), ["out.x", `outsx.partial-${GONE}`]);
});

Deno.test("a kill between two names: the earlier folder has its own again", () => {
  const out = join(temporaryFolder("whole-folder-old"), "out");
  filled(`${out}.old-${GONE}`, "earlier");
  partialOf(out);
  assert.equal(readFileSync(join(out, "a"), "utf8"), "earlier");
});

Deno.test("the next file that is written whole removes what a killed write left an hour ago", () => {
  const root = temporaryFolder("whole-file");
  const left = (name: string, hours: number) => {
    writeFileSync(join(root, name), "half");
    const at = Date.now() / 1000 - 3600 * hours;
    utimesSync(join(root, name), at, at);
    return name;
  };
  left(`a.json.partial-${GONE}-0123abcd`, 2);
  const kept = [
    left(`b.json.partial-${GONE}-0123abcd`, 0.5), // another machine's, as far as is known
    left(`c.json.partial-${Deno.pid}-0123abcd`, 2),
    left("d.partial-safetensors", 2),
  ];
  writeWhole(join(root, "e.json"), {});
  assert.deepEqual(readdirSync(root).sort(), [...kept, "e.json"]);
});

Deno.test("a write that a signal interrupts, or that takes a part, is gone on with", () => {
  const written: number[] = [];
  let calls = 0;
  const file = {
    writeSync(bytes: Uint8Array) {
      if (calls++ % 2 === 0) throw new Deno.errors.Interrupted("a signal");
      written.push(bytes[0]!);
      return 1;
    },
  };
  writeAll(file, Uint8Array.of(1, 2, 3));
  assert.deepEqual(written, [1, 2, 3]);
});
