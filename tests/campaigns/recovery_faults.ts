/** What goes wrong where a model is cut and trained, through one whole study: each a sentence and a
 * marked trial, nothing half-written, and the study goes on. */
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Action, StudyEvent, Trial } from "../../core/mod.ts";
import { openArtifactStore } from "../../tracker/artifacts/artifact_store.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { fill, mountDisk, unlessMountable } from "../fixtures/small_disk.ts";
import { shareDefaultEnvironment, withVariables } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FAULTY = join(ROOT, "tests/fixtures/third_party/faulty/faulty.ts");

const one = (agent: string, method: string, params: Action["params"]): Action[] => [
  { agent, method, params },
];

const SHORT = { tokens: 64, held_out: 0, schedule: "constant" };
const RECIPES: Record<string, Action[]> = {
  wide: one("finetuning", "lora", { rank: 64 }),
  pattern: one("pruning", "wanda", { pattern: "2:4", sparsity: 0.3 }),
  uncut: one("pruning", "channels", { mlp_ratio: 0.01, round_to: 64 }),
  diverging: one("faulty", "faulty_training", { ...SHORT, lr: 0.5, steps: 400 }),
  nan: one("faulty", "faulty_training", { ...SHORT, steps: 40, nan_at: 12 }),
  full: one("finetuning", "full", { ...SHORT, steps: 400 }),
  killed: one("faulty", "faulty_training", { ...SHORT, steps: 60, kill_at: 37 }),
  whole: one("faulty", "faulty_training", { ...SHORT, steps: 60 }),
  sound: one("quantization", "rtn", { bits: 8, group_size: 32 }),
};
const NAMES = Object.keys(RECIPES);
const nameOf = (trial_id: string) => NAMES[Number(trial_id.slice(-2)) - 1] ?? "baseline";

/** Fills the disk in the midst of one training, and notes the steps of the one that is killed. */
function troubles(disk: string) {
  const state = { filler: null as string | null, steps: [] as number[] };
  const onEvent = (event: StudyEvent) => {
    if (event.event === "record" && event.record.type === "trial_closed") {
      if (state.filler !== null) rmSync(state.filler);
      state.filler = null;
    }
    if (event.event !== "progress" || event.label !== "train") return;
    const name = nameOf(event.trial_id);
    if (name === "full" && event.done > 30) state.filler ??= fill(disk);
    if (name === "killed") state.steps.push(event.done);
  };
  return { state, onEvent };
}

const SAID: Record<string, [state: Trial["state"], said: RegExp]> = {
  wide: ["invalid", /^a rank of 64 is above 32, the narrowest layer's width$/],
  pattern: ["invalid", /^the pattern 2:4 leaves a sparsity of 0\.5 in every layer, not 0\.3$/],
  uncut: ["invalid", /^128 MLP channels, .* are left as they are by mlp_ratio 0\.01/],
  diverging: ["invalid", /^Cannot train with a learning rate of 0\.5: the loss diverges\. It was/],
  nan: ["failed", /^Cannot train: the loss of step 12 is nan$/],
  full: ["failed", /^Cannot save the training after step \d+: no space left on the disk of /],
};

Deno.test({
  name:
    "a rank, a pattern, a ratio, a rate, NaN, a full disk, a kill: each is told, the rest goes on",
  ignore: await unlessMountable(),
  async fn() {
    await shareDefaultEnvironment();
    await using disk = await mountDisk("400m");
    const store = join(temporaryFolder("recovery-faults"), "store");
    const { state, onEvent } = troubles(disk.path);
    await withVariables({ PARE_HOME: disk.path }, async () => {
      await using lab = await openLab({ store });
      const study = await lab.open({
        ...{ model_name: "tiny", dataset: "tiny", runtime: "transformers", plugins: [FAULTY] },
        ...{ max_trials: NAMES.length - 4, samples: { proxy: 20, full: 40 } }, // invalid ones are none
        strategies: NAMES.map((name) => ({ actions: RECIPES[name]! })),
      }, "faults");
      const signal = new AbortController().signal;
      const { trials } = await study.run({ ask: silentAsk(), signal, onEvent });
      const of = (name: string) => trials.find(({ trial_id }) => nameOf(trial_id) === name)!;
      for (const [name, [ended, said]] of Object.entries(SAID)) {
        const { state, failure, artifact_ids } = of(name);
        assert.equal(state, ended, `${name}: ${failure?.message}`);
        assert.match(failure!.message, said);
        assert.deepEqual(artifact_ids, [], name);
      }
      for (const name of ["killed", "whole", "sound"]) {
        assert.ok(["completed", "stopped"].includes(of(name).state), of(name).failure?.message);
      }
      // It went on behind the last saved step, and came to the bytes of the unbroken training.
      const again = state.steps.findIndex((step, n) => n > 0 && step <= state.steps[n - 1]!);
      assert.ok(again > 0 && state.steps[again]! > 10, `begun anew: ${state.steps}`);
      assert.deepEqual(of("killed").artifact_ids, of("whole").artifact_ids);

      const rows = await lab.sql`SELECT trial_id, reason FROM failures ORDER BY trial_id`;
      assert.ok(rows.every(({ reason }) => !String(reason).includes("\n")), "a reason is a line");
      const artifacts = await openArtifactStore(lab.home.artifacts);
      for (const { artifact_ids } of trials) {
        for (const id of artifact_ids) {
          assert.deepEqual(await artifacts.verifyChecksums((await artifacts.get(id))!), []);
        }
      }
      artifacts.close();
    });
    const left = readdirSync(disk.path, { recursive: true }).map(String);
    assert.deepEqual(left.filter((path) => path.endsWith(".partial")), []);
    assert.deepEqual(readdirSync(join(disk.path, "artifacts", ".temporary")), []);
  },
});
