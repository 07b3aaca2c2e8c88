import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { checkStore } from "../../tracker/artifacts/check_store.ts";
import { fill, mountDisk, unlessMountable } from "../fixtures/small_disk.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const rounding = (group_size: number) => ({
  actions: [{ agent: "quantization", method: "rtn", params: { bits: 8, group_size } }],
});

Deno.test({
  name: "a trial whose samples find no room fails under that name; the study goes on and is whole",
  ignore: await unlessMountable(),
  async fn() {
    const store = temporaryFolder("samples");
    const samples = join(store, "runs", "full", "samples");
    await Deno.mkdir(samples, { recursive: true });
    await using disk = await mountDisk("512k", samples);
    const request = {
      ...{ model_name: "tiny", dataset: "tiny", max_trials: 2 },
      strategies: [rounding(32), rounding(64)],
    };
    await using lab = await openLab({ store });
    const study = await lab.open(request, "full");
    let filler = "";
    const { trials } = await study.run({
      ask: silentAsk(),
      onEvent: (event) => {
        if (event.event !== "phase") return;
        if (!event.trial_id.endsWith("t01")) rmSync(filler, { force: true });
        else if (filler === "") filler = fill(disk.path);
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
    const left = readdirSync(disk.path, { recursive: true, encoding: "utf8" });
    assert.deepEqual(left.filter((name) => /partial|t01.*parquet/.test(name)), []);
    assert.deepEqual((await checkStore(store)).wrong, []);
  },
});
