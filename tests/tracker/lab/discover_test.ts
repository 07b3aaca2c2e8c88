import assert from "node:assert/strict";
import { join } from "node:path";
import { execa } from "execa";
import { discoverPlugins, inTime } from "../../../tracker/lab/discover.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("a plugin that is no file, or whose import never ends, is refused in a sentence", () =>
  inDirectory(async (folder) => {
    const pipe = join(folder, "plugin.ts");
    await execa("mkfifo", [pipe]);
    await assert.rejects(discoverPlugins([pipe]), /plugin\.ts as it is a pipe: name a file/);
    await assert.rejects(discoverPlugins(["/dev/zero"]), /\/dev\/zero as it is no plain file/);
    const never = new Promise<never>(() => {});
    await assert.rejects(inTime(never, 20), /not imported after 0\.02 s: its top level must not/);
    assert.equal(await inTime(Promise.resolve(1), 1_000), 1);
  }));
