import assert from "node:assert/strict";
import { execa } from "execa";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unlessMountable } from "../fixtures/small_disk.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { inTemporaryFolder } from "./temporary.ts";

Deno.test("inTemporaryFolder() removes what a run and its processes leave, also when it throws", async () => {
  const before = tmpdir();
  const left: string[] = [];
  const run = inTemporaryFolder(async () => {
    left.push(mkdtempSync(join(tmpdir(), "node-")));
    left.push(await Deno.makeTempDir());
    const words = ["-c", "import tempfile; print(tempfile.mkdtemp(), end='')"];
    left.push((await execa("python3", words)).stdout);
    for (const folder of left) writeFileSync(join(folder, "file"), "");
    throw new Error("a run that breaks");
  });
  await assert.rejects(run, /a run that breaks/);
  assert.equal(new Set(left.map(dirname)).size, 1, "all in one folder");
  assert.notEqual(dirname(left[0]!), before);
  assert(!existsSync(dirname(left[0]!)));
  assert.equal(tmpdir(), before);
});

Deno.test({
  name: "inTemporaryFolder() unmounts the disks that killed tests leave",
  ignore: await unlessMountable(),
  async fn() {
    const outer = await inTemporaryFolder(async () => {
      const outer = join(tmpdir(), "outer");
      for (const disk of [outer, join(outer, "inner")]) {
        mkdirSync(disk);
        await execa("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
      }
      return outer;
    });
    assert(!existsSync(outer));
    assert.doesNotMatch(await Deno.readTextFile("/proc/self/mounts"), new RegExp(outer));
  },
});

Deno.test("temporaryFolder() is gone when the tests of its file have ended", async () => {
  const outer = temporaryFolder("outer");
  const module = JSON.stringify(import.meta.resolve("../temporary_folder.ts"));
  const file = join(outer, "one_test.ts");
  writeFileSync(
    file,
    `import { temporaryFolder } from ${module};
    import { writeFileSync } from "node:fs";
    Deno.test("leaves a file", () => writeFileSync(temporaryFolder("inner") + "/file", ""));
    Deno.test("throws", () => { temporaryFolder("inner"); throw new Error("as it should"); });`,
  );
  const words = ["test", "--allow-all", "--no-check", "--no-config", file];
  const { all } = await execa(Deno.execPath(), words, {
    all: true,
    reject: false,
    env: { TMPDIR: outer, NO_COLOR: "1" },
  });
  assert.match(all ?? "", /1 passed \| 1 failed/);
  assert.deepEqual(readdirSync(outer), ["one_test.ts"]);
});
