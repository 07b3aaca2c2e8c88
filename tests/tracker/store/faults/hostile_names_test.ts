import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  type ArtifactMeta,
  openArtifactStore,
} from "../../../../tracker/artifacts/artifact_store.ts";
import { sha256Text } from "../../../../tracker/ground/storage/file_hash.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords, trialId } from "../../../fixtures/stores/records.ts";

const NAMES = [
  "../x",
  "../../../../etc/passwd",
  "/etc/passwd",
  "%2e%2e/x",
  "%2e%2e%2fx",
  "..%2fx",
  "..\\x",
  "C:\\x",
  "\\\\server\\share",
  "a/../../b",
  "a\0b",
  "a\nb",
  " ",
  "é",
  "‥/x",
  "CON",
  "trailing.",
  "-rf",
  "$(touch x)",
  "'; DROP TABLE trials; --",
  '"quoted"',
];
const REFUSED = ["", ".", "..", "...", "x".repeat(300), "é".repeat(80)];

/** Every file and folder below a directory, as paths from it. */
async function below(directory: string, from = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(join(directory, from))) {
    const path = join(from, entry.name);
    found.push(path, ...(entry.isDirectory ? await below(directory, path) : []));
  }
  return found;
}

Deno.test("Study, trial and call names never leave the store, and two of them never share a file", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "inner", "store");
    await using store = await openStore(root, { write: true });
    const paths = new Set<string>();
    for (const name of NAMES) {
      for (
        const path of [
          store.samplesPath(name, trialId(1), "full").absolute,
          store.samplesPath(STUDY, name, "full").absolute,
          store.logPath(name, trialId(1), "apply"),
          store.logPath(STUDY, name, "apply"),
          store.logPath(STUDY, trialId(1), name),
        ]
      ) {
        assert.ok(!paths.has(path), `${JSON.stringify(name)} shares ${path}`);
        paths.add(path);
        await Deno.writeTextFile(path, name);
      }
    }
    assert.deepEqual((await below(directory)).filter((path) => !path.startsWith("inner")), []);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(join(directory, "inner")), (e) => e.name), [
      "store",
    ]);
    for (const name of REFUSED) {
      assert.throws(() => store.samplesPath(name, "t", "full"), /plain name/, name);
      assert.throws(() => store.logPath(STUDY, trialId(1), name), /plain name/, name);
    }
  }));

Deno.test("Hostile ids of studies and trials are kept as they are and change nothing else", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const name of NAMES) {
      for (const record of studyRecords(name)) await store.record(record);
    }
    await store.flush();
    const { rows } = await store.query("SELECT study_id FROM studies");
    assert.deepEqual(rows.map((row) => String(row["study_id"])).sort(), [...NAMES].sort());
    for (const name of NAMES) {
      assert.equal((await store.journalOf(name)).length, studyRecords(name).length);
      const params = { study: name };
      const found = await store.query("SELECT count(*) AS n FROM trials WHERE study_id = $study", {
        params,
      });
      assert.deepEqual(found.rows, [{ n: 4 }], JSON.stringify(name));
    }
  }));

Deno.test("A samples file that a record names outside the store is not read", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const line = JSON.stringify({
      task: "t",
      sample_id: "1",
      sample_hash: "h",
      prompt_hash: "p",
      score: 1,
      answer: "secret",
      gold: null,
      log_likelihood: null,
    });
    const sha256 = createHash("sha256").update(line).digest("hex");
    await Deno.writeTextFile(join(directory, "secret.jsonl"), line);
    await using store = await openStore(root, { write: true });
    await Deno.mkdir(join(root, "samples", "linked"), { recursive: true });
    await Deno.symlink(join(directory, "secret.jsonl"), join(root, "samples", "link.jsonl"));
    await Deno.symlink(directory, join(root, "samples", "folder"));
    await Deno.writeTextFile(join(root, "samples", "own.jsonl"), line);
    const hostile = [
      "../secret.jsonl",
      "samples/../../secret.jsonl",
      join(directory, "secret.jsonl"),
      "samples/link.jsonl",
      "samples/folder/secret.jsonl",
      "%2e%2e/secret.jsonl",
      "samples/a\0b.jsonl",
      `samples/${"x".repeat(5000)}.jsonl`,
      "samples",
    ];
    for (const [n, path] of [...hostile, "samples/own.jsonl"].entries()) {
      const own = { study_id: STUDY, trial_id: trialId(n), fidelity: "full" as const, rows: 1 };
      await store.record({ type: "samples_written", at: AT, ...own, path, sha256 });
    }
    await store.flush();
    const { rows } = await store.query("SELECT trial_id FROM samples");
    assert.deepEqual(rows, [{ trial_id: trialId(hostile.length) }]);
    const { rows: problems } = await store.query("SELECT trial_id FROM problems ORDER BY position");
    assert.deepEqual(problems, hostile.map((_, n) => ({ trial_id: trialId(n) })));
  }));

function meta(name: string): ArtifactMeta {
  return {
    action_key: sha256Text(name),
    parent_id: null,
    action: null,
    formula_bytes: null,
    weight_bits: 4,
    activation_bits: null,
    verification: null,
    created_at: AT,
  };
}

Deno.test("An artifact's hostile file names stay inside it; links out of it are refused", () =>
  inDirectory(async (directory) => {
    using store = await openArtifactStore(join(directory, "artifacts"));
    await Deno.writeTextFile(join(directory, "secret"), "secret");
    const plain = await store.begin();
    const names = ["%2e%2e", "..x", "a\nb", "-rf", "'; DROP", "x".repeat(255), "model.safetensors"];
    for (const name of names) await Deno.writeTextFile(join(plain, name), name);
    const kept = await store.commit(plain, meta("plain"));
    assert.deepEqual(kept.files.map(({ path }) => path).sort(), [...names].sort());
    assert.deepEqual(await store.verifyChecksums(kept), []);
    for (const target of [join(directory, "secret"), "../../../secret", directory, "/etc/passwd"]) {
      const linked = await store.begin();
      await Deno.writeTextFile(join(linked, "model.safetensors"), target);
      await Deno.symlink(target, join(linked, "config.json"));
      await assert.rejects(store.commit(linked, meta(target)), /link/, target);
      await store.discard(linked);
    }
    for (const key of ["../x", "..", "a\0b", "x".repeat(5000)]) {
      await assert.rejects(store.find(key), /not a SHA-256/);
      assert.equal(await store.get(key), null);
    }
  }));

Deno.test("A manifest that names files outside its artifact is taken for none", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const directory = await store.begin();
    await Deno.writeTextFile(join(directory, "model.safetensors"), "weights");
    const { artifact_id, location } = await store.commit(directory, meta("a"));
    const manifest = join(location, "manifest.json");
    const text = await Deno.readTextFile(manifest);
    for (const path of ["../../secret", "/etc/hostname", "a/../../../secret"]) {
      await Deno.writeTextFile(
        manifest,
        text.replace('"model.safetensors"', JSON.stringify(path)),
      );
      assert.equal(await store.get(artifact_id), null, path);
    }
  }));
