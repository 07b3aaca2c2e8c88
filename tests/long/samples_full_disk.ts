import assert from "node:assert/strict";
import { execa } from "execa";
import { readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { checkStore } from "../../tracker/store/check_store.ts";

const rounding = (group_size: number) => ({
  actions: [{ agent: "quantization", method: "rtn", params: { bits: 8, group_size } }],
});

/** Leaves not one block free. */
function fill(disk: string): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, "filler"), new Uint8Array(bavail * bsize));
}

Deno.test({
  name: "a trial whose samples find no room fails under that name; the study goes on and is whole",
  ignore: Deno.uid() !== 0 || Deno.build.os !== "linux", // only root may mount a small disk
  async fn() {
    const store = await Deno.makeTempDir();
    const disk = join(store, "samples");
    await Deno.mkdir(disk);
    await execa("mount", ["-t", "tmpfs", "-o", "size=512k", "pare-test", disk]);
    try {
      const request = {
        ...{ model_name: "tiny", dataset: "tiny", max_trials: 2 },
        strategies: [rounding(32), rounding(64)],
      };
      await using lab = await openLab({ store });
      const study = await lab.open(request, "full");
      let full = false;
      const { trials } = await study.run({
        ask: silentAsk(),
        onEvent: (event) => {
          if (event.event !== "phase") return;
          if (event.trial_id.endsWith("t01") && !full) fill(disk);
          if (event.trial_id.endsWith("t01")) full = true;
          else if (full) rmSync(join(disk, "filler"), { force: true });
        },
      });
      const [baseline, first, second] = trials;
      assert.deepEqual([baseline?.state, first?.state, second?.state], [
        ...["completed", "failed", "completed"],
      ]);
      assert.equal(first!.failure?.kind, "disk_full");
      assert.match(first!.failure!.message, /^Cannot evaluate: no space left on the disk \(/);
      assert.match(first!.failure!.hint ?? "", /Free space/);
      const [row] = await lab.sql`SELECT failure_kind FROM trial_summary WHERE number = ${1}`;
      assert.equal(row!["failure_kind"], "disk_full");
      const left = readdirSync(disk, { recursive: true, encoding: "utf8" });
      assert.deepEqual(left.filter((name) => /partial|t01.*parquet/.test(name)), []);
      assert.deepEqual((await checkStore(store)).wrong, []);
    } finally {
      await execa("umount", ["--lazy", disk]);
      await Deno.remove(store, { recursive: true });
    }
  },
});
