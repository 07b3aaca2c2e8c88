import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Artifact } from "../../../core/mod.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { architectureOf } from "../../../tracker/lab/runner/forms/form_key.ts";
import { makeForms } from "../../../tracker/lab/runner/forms/runtime_form.ts";
import openvino from "../../../plugins/runtimes/openvino.ts";
import type { FormInput } from "../../../tracker/lab/runner/speed_input.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const WIDE = { model_type: "llama", intermediate_size: 96, tie_word_embeddings: true };
const PACKED = {
  ...WIDE,
  dtype: "float16",
  transformers_version: "5.17.0",
  quantization_config: { format: "pack-quantized" },
};

/** An artifact directory that holds nothing but a configuration. */
async function artifactOf(root: string, name: string, config: unknown): Promise<Artifact> {
  const location = join(root, name);
  await mkdir(location);
  await writeFile(join(location, "config.json"), JSON.stringify(config));
  return { artifact_id: name, location } as Artifact; // the only fields that a form asks for
}

/** A study's input whose exporting call only says what it was asked for. */
function inputOf(root: string, exported: string[]) {
  const runner: CallRunner = (_trial, request) => {
    assert(request.call === "make_form");
    exported.push(request.artifact_dir.slice(root.length + 1));
    return Promise.resolve({ ok: true, value: { size_bytes: 1, notes: [] } as never, spans: [] });
  };
  const workshop = {
    caches: openFolderCache(join(root, "cache")),
    environmentHash: () => Promise.resolve("pins"),
  };
  return (artifact: Artifact, baseline: Artifact | null) =>
    ({
      workshop,
      runner,
      trial_id: "t",
      ...{ runtime: openvino, precision: undefined, artifact, baseline },
    }) satisfies FormInput;
}

Deno.test("a graph is one architecture's: a narrower artifact gets its own beside its baseline's", () =>
  inDirectory(async (root) => {
    const exported: string[] = [];
    const input = inputOf(root, exported);
    const baseline = await artifactOf(root, "baseline", WIDE);
    const packed = await artifactOf(root, "packed", PACKED);
    const narrow = await artifactOf(root, "narrow", { ...PACKED, intermediate_size: 64 });
    const form = async (artifact: Artifact, beside: Artifact | null) => {
      const made = await makeForms(input(artifact, beside), join(root, "scratch"));
      assert(made.ok);
      return made.value;
    };
    const alone = await form(baseline, null);
    assert.equal(alone.baseline_form_dir, null);
    const same = await form(packed, baseline);
    assert.equal(same.form_dir, alone.form_dir);
    assert.equal(same.baseline_form_dir, alone.form_dir);
    assert.deepEqual(exported, ["baseline"]);
    const other = await form(narrow, baseline);
    assert.equal(other.baseline_form_dir, alone.form_dir);
    assert.notEqual(other.form_dir, alone.form_dir);
    assert.deepEqual(exported, ["baseline", "narrow"]);
  }));

Deno.test("whatever a graph is made from names its architecture, and nothing of how it is stored", () => {
  assert.equal(architectureOf(PACKED), architectureOf(WIDE));
  for (
    const change of [{ num_hidden_layers: 3 }, { tie_word_embeddings: false }, { head_dim: 8 }]
  ) {
    assert.notEqual(architectureOf({ ...WIDE, ...change }), architectureOf(WIDE));
  }
});
