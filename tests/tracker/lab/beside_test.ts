/** What trials side by side share: the machine, and artifacts that two of them need at once. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Artifact, resolveAction } from "../../../core/mod.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { checkRequest } from "../../../tracker/lab/check_request.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { applyAction } from "../../../tracker/lab/runner/apply_action.ts";
import { type CallRunner, failed } from "../../../tracker/lab/runner/call_runner.ts";
import { type Share, shareOut } from "../../../tracker/lab/runner/machine/worker_share.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { bareStudy } from "../../fixtures/bare_study.ts";
import { request, smallFacts } from "../../core/spec_fixtures.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const plugins = await discoverPlugins();

/** Runs something with variables set, or without those that are undefined. */
async function withVariables(
  variables: Record<string, string | undefined>,
  run: () => Promise<void>,
): Promise<void> {
  const set = (name: string, value: string | undefined) =>
    value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  try {
    for (const [name, value] of Object.entries(variables)) set(name, value);
    await run();
  } finally {
    for (const [name, value] of before) set(name, value);
  }
}

const MADE = {
  ...{ size_bytes: 4, formula_bytes: 4, weight_bits: 8, activation_bits: null, stored_layers: 1 },
  ...{ peak_memory_bytes: 1, notes: [], floats: [], loader: "pare", model: {}, figures: [] },
};
const VERIFIED = {
  ...{ layers: 1, minimum_cosine: 1, mean_cosine: 1, worst_layer: "a", generated_text: "b" },
  ...{ seconds: 1, cosines: [] },
};

Deno.test("an artifact that two trials need at once is made once, or by the second where the first fails", async () => {
  const folder = temporaryFolder("beside");
  const home = findHome({ PARE_HOME: folder });
  await mkdir(home.artifacts, { recursive: true });
  await using store = await openStore(join(folder, "store"), { write: true });
  const artifacts = await openArtifactStore(home.artifacts);
  await mkdir(join(folder, "original"));
  await writeFile(join(folder, "original", "model.safetensors"), "original");
  const original: Artifact = await artifacts.adopt(join(folder, "original"), {
    ...{ action_key: "a".repeat(64), parent_id: null, action: null, formula_bytes: null },
    ...{ weight_bits: null, activation_bits: null, verification: null },
    created_at: "2026-01-01T00:00:00Z",
  });
  let [applied, fails] = [0, 0];
  const runner: CallRunner = async (_trial, asked) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (asked.call === "apply") {
      applied++;
      if (fails-- > 0) {
        return failed({ kind: "crash", message: "it fell", hint: null, phase: "apply" }, []);
      }
      await writeFile(join(asked.output_dir, "model.safetensors"), asked.method);
    }
    const value = asked.call === "apply" ? MADE : VERIFIED;
    return { ok: true, value: value as never, spans: [] }; // of these two calls
  };
  const workshop = {
    ...{ home, registry: plugins, artifacts, caches: openFolderCache(home.cache), store },
    ...{ maxDiskBytes: null, client: null as never },
    environmentHash: (name: string) => Promise.resolve(`pins of ${name}`),
    timestamp: () => "2026-01-01T00:00:00Z",
  };
  const both = (bits: number) => {
    const rtn = { agent: "quantization", method: "rtn", params: { bits, group_size: 32 } };
    const action = resolveAction(rtn, plugins.methods, smallFacts());
    const common = { workshop, study: bareStudy({ workers: 2 }), runner, action, original };
    return Promise.all(
      ["study/t01", "study/t02"].map((trial_id) =>
        applyAction({ ...common, trial_id, parent: original, student: null, action_index: 0 })
      ),
    );
  };
  const made = await both(8);
  assert.deepEqual(made.map((one) => one.ok && one.value.cached).sort(), [false, true]);
  assert.equal(applied, 1);
  fails = 1;
  const again = await both(4);
  assert.deepEqual(again.map(({ ok }) => ok).sort(), [false, true]);
  assert.equal(applied, 3);
});

Deno.test("workers share a CPU's cores but for timings, and have a GPU each", async () => {
  const { device, ...facts } = smallFacts();
  const cpu = { ...facts, device: { ...device, cores: 8 } };
  await withVariables({ OMP_NUM_THREADS: undefined, CUDA_VISIBLE_DEVICES: "4, 6" }, async () => {
    const threadsOf = async (workers: number, call: "evaluate" | "speed") =>
      (await shareOut(workers, cpu)(call))?.threads;
    assert.equal(await threadsOf(1, "evaluate"), null);
    assert.deepEqual([await threadsOf(2, "evaluate"), await threadsOf(2, "speed")], [4, null]);
    const gpus = shareOut(2, { device: { ...device, device: "cuda", cores: 8, gpus: 2 } });
    const gpu = (share: Share | null) => share?.env?.["CUDA_VISIBLE_DEVICES"];
    const [first, second] = [await gpus("speed"), await gpus("apply")];
    assert.deepEqual([gpu(first), gpu(second)], ["4", "6"]);
    assert.equal(gpu(await gpus("suggest")), undefined, "a sampler's call takes none");
    first![Symbol.dispose]();
    assert.equal(gpu(await gpus("apply")), "4");
  });
  await withVariables({ OMP_NUM_THREADS: "1" }, async () => {
    const share = await shareOut(2, cpu)("evaluate");
    assert.equal(share?.threads, 1, "a limit of the program holds");
  });
});

Deno.test("a run that does one thing after another refuses workers in a sentence", () => {
  const asked = { ...request({ workers: 2 }), kind: "evaluation" } as never;
  assert.throws(
    () => checkRequest(asked, smallFacts().dataset, plugins, undefined),
    /Cannot run 2 workers as a study that only evaluates does one thing after another: leave workers out/,
  );
});
