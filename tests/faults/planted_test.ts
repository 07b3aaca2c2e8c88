import assert from "node:assert/strict";
import { execa } from "execa";
import { findLoops } from "./find_loops.ts";
import { plantedBugs, ROOT } from "./planted.ts";

Deno.test("each planted bug still fits the code, and is of a loop that there is", async () => {
  const bugs = plantedBugs();
  const loops = await findLoops();
  assert.ok(bugs.length >= 12);
  for (const { name, loop, path } of bugs) {
    assert.ok(loops.some((one) => one.name === loop), `${name} is of ${loop}`);
    const { stderr, failed } = await execa("git", ["apply", "-p0", "--check", path], {
      ...{ cwd: ROOT, reject: false },
    });
    assert.ok(!failed, `${name} no longer fits: ${stderr}`);
  }
});
