/** Data that are taken over tell a new study what their making warned of. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { CallRequest } from "../../../core/mod.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { preparedData } from "../../../tracker/lab/data/prepared_data.ts";
import type { CallRunner, Warning } from "../../../tracker/lab/runner/call_runner.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const FEWER = { condition: "fewer_calibration_windows", evidence: "58 windows, 64 were asked for" };
const PREPARED = {
  tasks: [],
  refused: [],
  calibration_path: "calibration.safetensors",
  calibration_ids: [],
  calibration_sha256: "0".repeat(64),
};

Deno.test("what the making of data warned of is told again to a new study that takes them over", () =>
  inDirectory(async (root) => {
    const caches = openFolderCache(join(root, "cache"));
    let made = 0;
    const again: Warning[] = [];
    const run = (
      _trial: string,
      _request: CallRequest,
      _environment: string,
      { heard }: { heard?: (one: Warning) => void } = {},
    ) => {
      made++;
      heard?.(FEWER);
      return Promise.resolve({ ok: true, value: PREPARED, spans: [] });
    };
    const runner = Object.assign(run, {
      tellAgain: (_trial: string, warnings: readonly Warning[]) => {
        again.push(...warnings);
        return Promise.resolve();
      },
    }) as unknown as CallRunner; // it runs this one call
    const prepare = (isNew: boolean) =>
      preparedData(caches, runner, "key", { call: "prepare_data" } as never, isNew);
    await prepare(true);
    assert.deepEqual([made, again], [1, []], "the runner itself has told");
    await prepare(true);
    assert.deepEqual([made, again], [1, [FEWER]]);
    await prepare(false);
    assert.deepEqual(again, [FEWER], "a study that goes on has them in its journal");
  }));
