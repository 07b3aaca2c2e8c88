/** What goes wrong where a model is cut and trained: a sentence and a marked trial, nothing half-written, and
 * the study goes on. */
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Action, StudyEvent, Trial } from "../../../core/mod.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openLab, silentAsk } from "../../../tracker/mod.ts";
import { fill, lacksSmallDisk, mountDisk } from "../../fixtures/small_disk.ts";
import { withVariables } from "../../python-backends/scripted_worker.ts";
import { folderIn, type RunFaults } from "./run_faults.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const FAULTY = join(ROOT, "tests/fixtures/third_party/faulty/faulty.ts");

const one = (agent: string, method: string, params: Action["params"]): Action[] => [
  { agent, method, params },
];

const SHORT = { tokens: 64, held_out: 0, schedule: "constant" };
const UNBROKEN = one("faulty", "faulty_training", { ...SHORT, steps: 60 });
const FULL = "a full disk";
const KILLED = "a kill amid a training";
const RECIPES: Record<string, Action[]> = {
  "a rank that is too wide": one("finetuning", "lora", { rank: 64 }),
  "a pattern of another sparsity": one("pruning", "wanda", { pattern: "2:4", sparsity: 0.3 }),
  "a cut of nothing": one("pruning", "channels", { mlp_ratio: 0.01, round_to: 64 }),
  "a rate that diverges": one("faulty", "faulty_training", { ...SHORT, lr: 0.5, steps: 400 }),
  "a loss that is no number": one("faulty", "faulty_training", {
    ...{ ...SHORT, steps: 40, nan_at: 12 },
  }),
  [FULL]: one("finetuning", "full", { ...SHORT, steps: 400 }),
  [KILLED]: one("faulty", "faulty_training", { ...SHORT, steps: 60, kill_at: 37 }),
};
const SOUND = one("quantization", "rtn", { bits: 8, group_size: 32 });

/** Fills the disk in the midst of a training, and notes its steps. */
function troubles(disk: string, fills: boolean) {
  const state = { filler: null as string | null, steps: [] as number[] };
  const onEvent = (event: StudyEvent) => {
    if (event.event === "record" && event.record.type === "trial_closed") {
      if (state.filler !== null) rmSync(state.filler);
      state.filler = null;
    }
    if (event.event !== "progress" || event.label !== "train") return;
    if (fills && event.done > 30) state.filler ??= fill(disk);
    if (event.trial_id.endsWith("t01")) state.steps.push(event.done);
  };
  return { state, onEvent };
}

const SAID: Record<string, [state: Trial["state"], said: RegExp]> = {
  "a rank that is too wide": [
    "invalid",
    /^a rank of 64 is above 32, the narrowest layer's width$/,
  ],
  "a pattern of another sparsity": [
    "invalid",
    /^the pattern 2:4 leaves a sparsity of 0\.5 in every layer, not 0\.3$/,
  ],
  "a cut of nothing": ["invalid", /^128 MLP channels, .* are left as they are by mlp_ratio 0\.01/],
  "a rate that diverges": [
    "invalid",
    /^Cannot train with a learning rate of 0\.5: the loss diverges\. It was/,
  ],
  "a loss that is no number": ["failed", /^Cannot train: the loss of step 12 is nan$/],
  [FULL]: [
    "failed",
    /^Cannot save the training after step \d+: no space left on the disk of /,
  ],
};

/** What must hold of the trials of a study of one recipe that goes wrong, and one that does not. */
function held(point: string, steps: readonly number[], trials: readonly Trial[]): void {
  const [bad, next] = trials.slice(1);
  assert.ok(["completed", "stopped"].includes(next!.state), next!.failure?.message);
  if (point !== KILLED) {
    const [ended, said] = SAID[point]!;
    assert.equal(bad!.state, ended, bad!.failure?.message);
    assert.match(bad!.failure!.message, said);
    assert.ok(!bad!.failure!.message.includes("\n"), "a reason is a line");
    assert.deepEqual(bad!.artifact_ids, []);
    return;
  }
  // It went on behind the last saved step, and came to the bytes of the unbroken training.
  const again = steps.findIndex((step, n) => n > 0 && step <= steps[n - 1]!);
  assert.ok(again > 0 && steps[again]! > 10, `begun anew: ${steps}`);
  assert.deepEqual(bad!.artifact_ids, next!.artifact_ids);
}

async function hit(point: string, folder: string): Promise<void> {
  await using disk = await mountDisk("400m", folderIn(folder, "disk"));
  const { state, onEvent } = troubles(disk.path, point === FULL);
  const recipes = [RECIPES[point]!, point === KILLED ? UNBROKEN : SOUND];
  await withVariables({ PARE_HOME: disk.path }, async () => {
    await using lab = await openLab({ store: join(folder, "store") });
    const study = await lab.open({
      ...{ model_name: "tiny", dataset: "tiny", runtime: "transformers", plugins: [FAULTY] },
      ...{ max_trials: SAID[point]?.[0] === "invalid" ? 1 : 2, samples: { proxy: 20, full: 40 } },
      strategies: recipes.map((actions) => ({ actions })),
    }, "faults");
    const signal = new AbortController().signal;
    const { trials } = await study.run({ ask: silentAsk(), signal, onEvent });
    held(point, state.steps, trials);
    using artifacts = await openArtifactStore(lab.home.artifacts);
    for (const { artifact_ids } of trials) {
      for (const id of artifact_ids) {
        assert.deepEqual(await artifacts.verifyChecksums((await artifacts.get(id))!), []);
      }
    }
  });
  const left = readdirSync(disk.path, { recursive: true }).map(String);
  assert.deepEqual(left.filter((path) => path.endsWith(".partial")), []);
  assert.deepEqual(readdirSync(join(disk.path, "artifacts", ".temporary")), []);
}

export const recoveryFaults: RunFaults = {
  name: "a study that trains",
  lacks: lacksSmallDisk,
  points: Object.keys(RECIPES),
  open: () => Promise.resolve(hit),
};
