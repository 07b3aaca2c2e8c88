import assert from "node:assert/strict";
import { join } from "node:path";
import type { Artifact } from "../../../core/mod.ts";
import { SETTING } from "../../../tracker/artifacts/artifact_files.ts";
import {
  type ArtifactMeta,
  type ArtifactStore,
  openArtifactStore,
} from "../../../tracker/artifacts/artifact_store.ts";
import { loaderLines } from "../../../tracker/artifacts/loader_lines.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import { artifactPlace } from "../../../tracker/lab/runner/artifact_place.ts";
import { checkpointFiles } from "../../../tracker/exchange/mlflow/checkpoints.ts";
import { newStudy, trialOf } from "../../../tracker/exchange/mlflow/describe/known_study.ts";
import { startProgram } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT } from "../../fixtures/stores/records.ts";

const WEIGHT_BYTES = 1000;

function meta(name: string, parent_id: string | null): ArtifactMeta {
  return {
    action_key: sha256Text(name),
    parent_id,
    action: { agent: "kv_cache", method: name, params: {}, resolved: [] },
    formula_bytes: null,
    weight_bits: 16,
    activation_bits: null,
    verification: null,
    created_at: AT,
  };
}

async function weights(store: ArtifactStore, fill = 1): Promise<Artifact> {
  const directory = await store.begin();
  const bytes = new Uint8Array(WEIGHT_BYTES).fill(fill);
  await Deno.writeFile(join(directory, "model.safetensors"), bytes);
  await Deno.writeTextFile(join(directory, "config.json"), "{}");
  return await store.commit(directory, meta(`weights ${fill}`, "0000000000000000"));
}

function settingText(changes: Record<string, unknown>): string {
  const values = { sinks: 4, window: 64 };
  return JSON.stringify({ format: 1, kind: "kv_cache", policy: "streaming", values, ...changes });
}

async function setting(
  store: ArtifactStore,
  parent: string,
  changes: Record<string, unknown> = {},
): Promise<Artifact> {
  const directory = await store.begin();
  const text = settingText({ weights: parent, ...changes });
  await Deno.writeTextFile(join(directory, SETTING), text);
  return await store.commit(directory, meta(`streaming ${parent}`, parent));
}

Deno.test("a setting counts the bytes of the weights that it needs and its own, and names them", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const parent = await weights(store);
    const made = await setting(store, parent.artifact_id);
    assert.equal(made.weights_id, parent.artifact_id);
    assert.deepEqual(made.files.map(({ path }) => path), [SETTING]);
    assert.equal(made.size_bytes, WEIGHT_BYTES + made.files[0]!.bytes);
    using fresh = await openArtifactStore(root);
    assert.deepEqual(await fresh.find(made.action_key), made);
    assert.deepEqual(await fresh.weightsOf(made), parent);
    const place = await artifactPlace(fresh, made, "evaluate");
    assert(place.ok);
    assert.deepEqual(place.value, { artifact_dir: made.location, weights_dir: parent.location });
    const own = await artifactPlace(fresh, parent, "evaluate");
    assert.deepEqual(own.ok && own.value, { artifact_dir: parent.location });
  }));

Deno.test("a setting is kept only with the weights of its parent, which are no setting themselves", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const [parent, other] = [await weights(store, 1), await weights(store, 2)];
    const refused = /its weights must be those of its parent/;
    await assert.rejects(
      setting(store, parent.artifact_id, { weights: other.artifact_id }),
      refused,
    );
    await assert.rejects(setting(store, "00000000000000aa"), refused);
    const made = await setting(store, parent.artifact_id);
    await assert.rejects(setting(store, made.artifact_id), refused);
    for (const weights of ["../../etc", join(root, parent.artifact_id), "", 7]) {
      await assert.rejects(
        setting(store, parent.artifact_id, { weights }),
        /16 hexadecimal|string/,
      );
    }
    await assert.rejects(
      setting(store, parent.artifact_id, { weights_dir: "/etc" }),
      /weights_dir/,
    );
    await assert.rejects(setting(store, parent.artifact_id, { format: 2 }), /Cannot keep/);
  }));

Deno.test("checksums of a setting are its own and its weights'; without them it is made again", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const parent = await weights(store);
    const made = await setting(store, parent.artifact_id);
    assert.deepEqual(await store.verifyChecksums(made), []);
    const file = join(parent.location, "model.safetensors");
    await Deno.writeFile(file, new Uint8Array(WEIGHT_BYTES).fill(9));
    assert.deepEqual(await store.verifyChecksums(made), [`${file} has another checksum`]);
    await Deno.remove(file);
    assert.match((await store.verifyChecksums(made))[0]!, /^the weights .* are gone or cut$/);
    assert.equal(await store.find(made.action_key), null);
    const place = await artifactPlace(store, made, "evaluate");
    assert(!place.ok);
    assert.match(place.failure.message, new RegExp(`weights, the artifact ${parent.artifact_id}`));
  }));

Deno.test("gc keeps the weights of a setting that is kept, and lets them go with it", () =>
  inDirectory(async (root) => {
    const store = await openArtifactStore(root);
    const [parent, other] = [await weights(store, 1), await weights(store, 2)];
    const made = await setting(store, parent.artifact_id);
    const { removed } = await store.gc({ maxBytes: 0, keep: [made.artifact_id] });
    assert.deepEqual(removed.map(({ artifact_id }) => artifact_id), [other.artifact_id]);
    assert.deepEqual(await store.verifyChecksums(made), []);
    const rest = await store.gc({ maxBytes: 0, keep: [] });
    assert.equal(rest.removed.length, 2);
    assert.equal(rest.total_bytes, 0);
    store.close();
  }));

Deno.test("a setting in use by another process keeps its weights from gc", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const parent = await weights(store);
    const made = await setting(store, parent.artifact_id);
    // A process that lives: its lease on the setting alone, as an older pare writes it.
    const child = startProgram(["sleep", "30"]);
    try {
      const stat = await Deno.readTextFile(`/proc/${child.pid}/stat`);
      const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
      const lease = join(root, ".leases", `${made.artifact_id}.${child.pid}.${start}`);
      await Deno.writeTextFile(lease, "");
      assert.deepEqual((await store.gc({ maxBytes: 0, keep: [] })).removed, []);
    } finally {
      await child.kill();
    }
    assert.equal((await store.gc({ maxBytes: 0, keep: [] })).removed.length, 2);
    assert.equal(parent.weights_id, undefined);
  }));

Deno.test("the lines that load a setting name both directories", async () => {
  const lines = await loaderLines(
    { location: "/a/setting", loader: "pare", weights_id: "0123456789abcdef" },
    { location: "/a/weights" },
  );
  assert.match(lines, /load_dequantized\("\/a\/setting", "\/a\/weights"\)$/);
});

Deno.test("MLflow gets a setting with its weights beside it, an imported model's left out", () => {
  const study = newStudy("s", AT);
  const base = { files: [], formula_bytes: null, weight_bits: null, activation_bits: null };
  const artifact = (artifact_id: string, parent_id: string | null, path: string): Artifact => ({
    ...{ ...base, artifact_id, parent_id, action: null, action_key: "k", size_bytes: 1 },
    ...{ location: `/a/${artifact_id}`, verification: null, created_at: AT },
    files: [{ path, bytes: 1, sha256: "0" }],
  });
  const model = artifact("model", null, "model.safetensors");
  const rounded = artifact("rounded", "model", "model.safetensors");
  for (const one of [model, rounded]) study.artifacts.set(one.artifact_id, one);
  const filesWith = (weights_id: string) => {
    const made = { ...artifact("setting", weights_id, SETTING), weights_id };
    trialOf(study, "s/t01", AT).artifact = made;
    return checkpointFiles(study, "s/t01").map((one) => one.kind === "file" ? one.file : "");
  };
  const own = ["/a/setting/manifest.json", `/a/setting/${SETTING}`];
  assert.deepEqual(filesWith("rounded"), [...own, "/a/rounded/model.safetensors"]);
  assert.deepEqual(filesWith("model"), own);
});
