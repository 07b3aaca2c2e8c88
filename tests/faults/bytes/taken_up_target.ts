/** The samples of a study that is taken up: none of a damaged file counts, its answers are asked again. */
import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { runStudy, type StudyResult } from "../../../core/mod.ts";
import { samplesPath } from "../../../tracker/store/store_paths.ts";
import { world } from "../../core/study_world.ts";
import { sometimes } from "../loop.ts";
import { type Run, runOn, STUDY } from "../workloads/run_workload.ts";
import type { Target } from "./target.ts";

const BASELINE = `${STUDY}/t00`;
/** Each takes up a study. */
const MOST = 120;

export async function takenUpTarget(folder: string): Promise<Target> {
  const [whole, root] = [join(folder, "ended"), join(folder, "taken-up")];
  Deno.mkdirSync(whole);
  const w = world({ max_trials: 2 }, { samples: { proxy: 8, half: 12, full: 20 } });
  const run: Run = {
    world: w,
    drive: (ports, history) => runStudy(w.input(history === undefined ? {} : { history }), ports),
  };
  const shown = ({ trials, front, front_probability }: StudyResult) =>
    JSON.parse(JSON.stringify([trials, front, front_probability])) as unknown;
  const due = shown(await runOn(whole, run));
  const file = samplesPath(STUDY, BASELINE, "full").replace(/parquet$/, "jsonl");
  return {
    ...{ file, bytes: Deno.readFileSync(join(whole, file)), lines: true, kind: "survivable" },
    most: MOST,
    async check({ bytes }) {
      rmSync(root, { recursive: true, force: true });
      cpSync(whole, root, { recursive: true });
      Deno.writeFileSync(join(root, file), bytes);
      const calls = w.calls.length;
      const same = isDeepStrictEqual(shown(await runOn(root, run)), due);
      assert.ok(same, "it ends otherwise");
      const asked = w.calls.slice(calls).map(({ call, trial_id, fidelity }) =>
        `${call} ${trial_id} ${fidelity}`
      );
      assert.deepEqual(
        asked,
        [`evaluate ${BASELINE} full`],
        "a damaged file counts, or more is lost",
      );
      assert.deepEqual(Deno.readFileSync(join(root, `${file}.damaged-1`)), bytes, "it is not kept");
      const made = Deno.readFileSync(join(root, file));
      assert.deepEqual(made, Deno.readFileSync(join(whole, file)), "it is not made again");
      sometimes("answers whose file is damaged are asked again");
    },
  };
}
