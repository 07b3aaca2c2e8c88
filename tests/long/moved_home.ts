import assert from "node:assert/strict";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { checkStore } from "../../tracker/artifacts/check_store.ts";
import { recommendedLoader } from "../../tracker/show/reports_of_study.ts";
import { runPaths } from "../../tracker/store/store_paths.ts";

const CUT = { agent: "pruning", method: "magnitude", params: { sparsity: 0.1 } };
const ROUNDED = { agent: "quantization", method: "rtn", params: { bits: 8 } };
const STUDY = "moved";

Deno.test("a study that was stopped goes on in a home that was moved, and makes nothing again", async () => {
  const folder = await Deno.makeTempDir();
  const [here, there] = [join(folder, "here"), join(folder, "there")];
  try {
    {
      await using lab = await openLab({ fresh: here });
      const study = await lab.open({
        ...{ model_name: "tiny", dataset: "tiny", max_trials: 2 },
        strategies: [{ actions: [CUT] }, { actions: [CUT, ROUNDED] }],
      }, STUDY);
      const stop = new AbortController();
      const { stop: ended } = await study.run({
        ask: silentAsk(),
        signal: stop.signal,
        onEvent: (event) => {
          if (event.event === "phase" && event.trial_id.endsWith("t02")) stop.abort();
        },
      });
      assert.equal(ended, "cancelled");
    }
    const journal = (home: string) =>
      readFile(runPaths(join(home, "store"), STUDY).journal, "utf8");
    assert.ok(!(await journal(here)).includes(folder), "no place stands in the journal");
    await rename(here, there);

    await using lab = await openLab({ fresh: there });
    const study = await lab.resume(STUDY);
    const begun: string[] = [];
    const { stop, trials } = await study.run({
      ask: silentAsk(),
      onEvent: (event) => {
        if (event.event === "record" && event.record.type === "trial_opened") {
          begun.push(event.record.trial_id);
        }
      },
    });
    assert.equal(stop, "max_trials");
    assert.deepEqual(begun, [`${STUDY}/t03`], "what ended is not run again");
    const [first, last] = [trials[1]!, trials.at(-1)!];
    assert.equal(last.artifact_ids[0], first.artifact_ids[0], "the first action is found again");
    const reused = await lab.sql<{ cached: boolean }>`SELECT cached FROM trial_artifacts
      WHERE trial_id = ${last.trial_id} ORDER BY position`;
    assert.deepEqual(reused.map(({ cached }) => cached), [true, false]);

    const view = await lab.view(STUDY);
    for (const { artifact_id, location } of view.artifacts.values()) {
      assert.ok(location.startsWith(there), `${artifact_id} lies in ${location}`);
    }
    const loader = await recommendedLoader({ ...view, recommended: last.trial_id });
    assert.ok(loader.includes(join(there, "artifacts", last.artifact_ids.at(-1)!)), loader);
    assert.deepEqual((await checkStore(join(there, "store"))).wrong, []);
    assert.ok(!(await journal(there)).includes(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
