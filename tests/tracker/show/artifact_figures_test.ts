import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type Artifact,
  ArtifactFigure,
  type CallResult,
  type JournalRecord,
  type Trial,
} from "../../../core/mod.ts";
import { callOptions } from "../../../core/schemas/call_options.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { applyAction } from "../../../tracker/lab/runner/apply_action.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { figureBlocks, figuresText } from "../../../tracker/show/reports/figure_blocks.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { openStore, rebuildDatabase } from "../../../tracker/store/store.ts";
import type { StudyView } from "../../../tracker/show/view/study_view.ts";
import { smallFacts } from "../../core/spec_fixtures.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { artifact, AT, STUDY, trialId, trialRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const ID = "0".repeat(16);

/** Figures of the fixture's artifact, as a trial that uses it records them. */
function told(
  number: number,
  metric: string,
  unit: string,
  layers: { layer: string | null; value: number }[],
): JournalRecord {
  const own = { at: AT, study_id: STUDY, trial_id: trialId(number), artifact_id: ID };
  return { type: "layer_sensitivities", ...own, metric, unit, layers };
}

/** Two trials of one artifact, which has figures of its method beside its cosines. */
function records(): JournalRecord[] {
  const sizes = { accuracy: 0.6, latency_ms: 20, size_bytes: 50_000 };
  const figures = (number: number) => [
    told(number, "sparsity", "1", [{ layer: "layers.0.q_proj", value: 0.5 }, {
      layer: "layers.0.down_proj",
      value: 0.25,
    }]),
    told(number, "tokens_trained", "tokens", [{ layer: null, value: 8192 }]),
  ];
  return [
    ...trialRecords({ number: 1, ...sizes }),
    ...figures(1),
    ...trialRecords({ number: 2, ...sizes }),
    ...figures(2),
  ];
}

const ASKED = `SELECT trial_id, action_index, agent, method, layer, metric, value, unit
  FROM artifact_figures WHERE metric <> 'cosine' ORDER BY trial_id, metric, layer_index`;

Deno.test("each trial that uses an artifact has its figures, by layer and of the whole", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, records());
    const of = (trial_id: string) => {
      const action = { trial_id, agent: "quantization", method: "gptq" };
      return [
        { ...action, layer: "layers.0.q_proj", metric: "sparsity", value: 0.5, unit: "1" },
        { ...action, layer: "layers.0.down_proj", metric: "sparsity", value: 0.25, unit: "1" },
        { ...action, layer: null, metric: "tokens_trained", value: 8192, unit: "tokens" },
      ].map((row) => ({ ...row, action_index: 0 }));
    };
    const { rows } = await store.query(ASKED);
    assert.deepEqual(rows, [...of(trialId(1)), ...of(trialId(2))]);
    const { rows: [kept] } = await store.query("SELECT count(*) AS n FROM layer_sensitivities");
    assert.equal(kept!["n"], 5, "an artifact's figures stand once");
    await rebuildDatabase(store);
    assert.deepEqual((await store.query(ASKED)).rows, rows);
  }));

Deno.test("a figure has a plain name, a finite value and a unit", () => {
  const sound = { metric: "heads_cut", layer: null, value: 3, unit: "heads" };
  assert.ok(ArtifactFigure.safeParse(sound).success);
  const wrong = [
    { metric: "Heads cut" },
    { metric: "a".repeat(65) },
    { value: NaN },
    { value: Infinity },
    { unit: "" },
    { layer: "" },
    { layer: "l".repeat(257) },
  ];
  for (const change of wrong) {
    const parsed = ArtifactFigure.safeParse({ ...sound, ...change });
    assert.ok(!parsed.success, JSON.stringify(change));
  }
});

const layers = (metric: string, values: number[]): ArtifactFigure[] =>
  values.map((value, n) => ({ metric, layer: `layers.${n}`, value, unit: "1" }));

Deno.test("the report sums layers up, however many there are", () => {
  const whole: ArtifactFigure[] = [
    { metric: "sparsity", layer: null, value: 0.5, unit: "1" },
    { metric: "teacher_bytes", layer: null, value: 2.5e6, unit: "bytes" },
    { metric: "estimated_energy_j", layer: null, value: 12, unit: "J" },
  ];
  const many = layers("sparsity", Array.from({ length: 1001 }, (_, n) => n / 1000));
  assert.equal(
    figuresText([...many, ...whole]),
    "sparsity: 0.500; 0 to 1.00, median 0.500, in 1001 layers; teacher bytes: 2.5 MB; " +
      "estimated energy: 12.0 J",
  );
  assert.equal(figuresText(layers("rank", [8, 8, 8])), "rank: 8.00 in each of 3 layers");
  const near = layers("sparsity", [0.5, 0.50001]);
  assert.equal(figuresText(near), "sparsity: 0.500 in each of 2 layers");
  const kinds = Array.from({ length: 13 }, (_, n) => layers(`kind_${n}`, [n])).flat();
  assert.match(figuresText(kinds), /kind 9: 9\.00 in each of 1 layers; 3 more in SQL$/);
});

Deno.test("the report names an artifact's figures once, with every trial that went through it", () => {
  const figures = layers("sparsity", [0.2, 0.4]);
  const artifacts = new Map<string, Artifact>([
    ["a", { ...artifact("a", "base"), figures }],
    ["b", artifact("b", "a")],
  ]);
  const trial = (number: number, artifact_ids: string[]) => ({ number, artifact_ids }) as Trial;
  const trials = [trial(0, []), trial(1, ["a"]), trial(2, ["a", "b"])];
  const report = renderMarkdown(figureBlocks({ trials, artifacts } as unknown as StudyView));
  assert.match(report, /## What the actions left/);
  assert.match(
    report,
    /\| t01, t02 \| gptq \| sparsity: 0\.200 to 0\.400, median 0\.300, in 2 layers \|/,
  );
  assert.doesNotMatch(report, /t00/);
  assert.deepEqual(
    figureBlocks({ trials: trials.slice(0, 1), artifacts } as unknown as StudyView),
    [],
  );
});

const APPLIED: CallResult<"apply"> = {
  ...{ size_bytes: 4, formula_bytes: 4, weight_bits: 9, activation_bits: null, stored_layers: 2 },
  ...{ peak_memory_bytes: 1, notes: [], floats: [], loader: "pare", model: smallFacts().model },
  figures: [...layers("sparsity", [0.5, 0.25]), {
    ...{ metric: "zeros", layer: null, value: 96, unit: "weights" },
  }],
};
const VERIFIED: CallResult<"verify"> = {
  ...{ layers: 2, minimum_cosine: 0.9, mean_cosine: 0.9, worst_layer: "layers.0" },
  ...{ generated_text: "once", seconds: 1, cosines: [{ layer: "layers.0", value: 0.9 }] },
};

/** Applies magnitude pruning by a worker that says what is above, and leaves a file. */
async function apply(
  root: string,
  storeName: string,
  trial_id: string,
  { applied = APPLIED, verified = VERIFIED } = {},
) {
  const asked: unknown[] = [];
  await using store = await openStore(join(root, storeName), { write: true });
  using artifacts = await openArtifactStore(join(root, "artifacts"));
  const parentDirectory = await artifacts.begin();
  await Deno.writeTextFile(join(parentDirectory, "model.safetensors"), "whole");
  const { artifact_id: _id, location: _place, files: _files, size_bytes: _size, ...meta } =
    artifact("parent", null);
  const parent = await artifacts.commit(parentDirectory, {
    ...meta,
    action_key: "ab".repeat(32),
  });
  type Request = { call: string; output_dir?: string; plain_load?: boolean };
  const runner = (async (_trial: string, request: Request) => {
    const written = request.call === "apply";
    if (!written) asked.push(request.plain_load);
    if (written) await Deno.writeTextFile(join(request.output_dir!, "model.safetensors"), "half");
    return { ok: true, value: written ? applied : verified, spans: [] };
  }) as unknown as CallRunner;
  const workshop = {
    home: { ...findHome({ PARE_HOME: root }), artifacts: join(root, "artifacts") },
    registry: await discoverPlugins(),
    client: null as never, // the runner above asks nobody
    artifacts,
    caches: openFolderCache(join(root, "cache")),
    store,
    environmentHash: () => Promise.resolve("pins"),
    timestamp: () => AT,
    maxDiskBytes: null,
  };
  const study = {
    ...{ study_id: STUDY, model: smallFacts().model, seed: 1, options: callOptions({}) },
    windows: { calibration: null, training: null },
  } as unknown as Parameters<typeof applyAction>[0]["study"];
  const params = { sparsity: 0.5, pattern: "unstructured", scope: "layer" };
  const action = { agent: "pruning", method: "magnitude", params, resolved: [] };
  const input = {
    workshop,
    study,
    runner,
    trial_id,
    original: parent,
    student: null,
    parent,
    action,
    action_index: 0,
  };
  const outcome = await applyAction(input);
  assert.ok(outcome.ok, JSON.stringify(outcome));
  const told = (await store.journalOf(STUDY)).filter(({ type }) => type === "layer_sensitivities");
  return { ...outcome.value, told, asked };
}

Deno.test("an artifact taken from the cache tells its figures anew, also to another store", () =>
  inDirectory(async (root) => {
    const made = await apply(root, "one", trialId(1));
    assert.equal(made.cached, false);
    assert.deepEqual(made.artifact.figures, APPLIED.figures);
    const found = await apply(root, "two", trialId(7));
    assert.equal(found.cached, true);
    const of = (trial_id: string) => {
      const own = { type: "layer_sensitivities", at: AT, study_id: STUDY, trial_id };
      const { artifact_id } = made.artifact;
      return [
        { metric: "cosine", unit: "1", layers: VERIFIED.cosines },
        {
          ...{ metric: "sparsity", unit: "1" },
          layers: [{ layer: "layers.0", value: 0.5 }, { layer: "layers.1", value: 0.25 }],
        },
        { metric: "zeros", unit: "weights", layers: [{ layer: null, value: 96 }] },
      ].map((one) => ({ ...own, artifact_id, ...one }));
    };
    assert.deepEqual(made.told, of(trialId(1)));
    assert.deepEqual(found.told, of(trialId(7)));
  }));

Deno.test("an artifact that the printed lines load otherwise is pare's own loader's from then on", () =>
  inDirectory(async (root) => {
    const plain_load = {
      ...{
        loaded_by: "transformers 5.17.0",
        dtype: "float16",
        problem: "its logits are not finite",
      },
      ...{ cosine: null, kl: null, tokens: 12 },
    };
    const applied = { ...APPLIED, loader: "transformers" };
    const { artifact, asked } = await apply(root, "one", trialId(1), {
      applied,
      verified: { ...VERIFIED, plain_load },
    });
    assert.deepEqual(asked, [true]);
    assert.equal(artifact.loader, "pare");
    assert.match(artifact.notes![0]!, /in float16 its logits are not finite/);
    assert.deepEqual(artifact.verification!.plain_load, plain_load);
    const other = await apply(join(root, "other"), "one", trialId(1));
    assert.deepEqual(other.asked, [false]);
  }));
