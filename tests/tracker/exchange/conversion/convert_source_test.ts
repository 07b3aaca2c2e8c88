import assert from "node:assert/strict";
import { join } from "node:path";
import type { Artifact } from "../../../../core/mod.ts";
import { openArtifactStore } from "../../../../tracker/artifacts/artifact_store.ts";
import { CONVERSIONS } from "../../../../tracker/exchange/conversion/formats.ts";
import { convertSource } from "../../../../tracker/exchange/conversion/convert_source.ts";
import { findHome } from "../../../../tracker/ground/home.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { pareWith } from "../../../fixtures/stores/pare.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { artifact, AT, STUDY, studyRecords, trialId } from "../../../fixtures/stores/records.ts";

const NEEDED = new Set(["study_opened", "trial_opened", "trial_closed"]);

/** A store whose first trial wrote this artifact last. */
async function storeWith(root: string, written: Artifact): Promise<void> {
  const store = await openStore(root, { write: true });
  const own = { at: AT, study_id: STUDY, trial_id: trialId(1) };
  for (const record of studyRecords().filter(({ type }) => NEEDED.has(type))) {
    await store.record(
      record.type === "trial_closed" && record.trial.trial_id === trialId(1)
        ? { ...record, trial: { ...record.trial, artifact_ids: [written.artifact_id] } }
        : record,
    );
  }
  await store.record({ type: "artifact_written", ...own, artifact: written, cached: false });
  await store.close();
}

/** The sentence that a name is refused with. */
async function refused(home: ReturnType<typeof findHome>, name: string): Promise<string> {
  let said = "";
  await assert.rejects(() => convertSource(home, name), (error: Error) => {
    assert.equal(error.name, "UsageError");
    said = error.message;
    return true;
  });
  return said;
}

Deno.test("a trial's last artifact is what is converted, held against gc meanwhile", () =>
  inDirectory(async (root) => {
    const home = findHome({ PARE_HOME: root });
    assert.match(await refused(home, "t01"), /no folder with a config.json, and the store/);
    using artifacts = await openArtifactStore(home.artifacts);
    const directory = await artifacts.begin();
    await Deno.writeTextFile(join(directory, "config.json"), "{}");
    const { artifact_id: _, location: _l, files: _f, size_bytes: _s, ...meta } = artifact(
      "0".repeat(16),
      "1".repeat(16),
    );
    const written = await artifacts.commit(directory, meta);
    await storeWith(home.store, written);
    {
      using source = await convertSource(home, trialId(1));
      assert.equal(source.artifact_dir, written.location);
      assert.equal(source.name, trialId(1));
      using again = await convertSource(home, written.location);
      assert.equal(again.artifact_dir, written.location);
      assert.equal(again.artifact_id, null);
    }
    assert.match(await refused(home, `${STUDY}/t99`), /t99/);
    await Deno.remove(written.location, { recursive: true });
    assert.match(await refused(home, trialId(1)), /its files are gone or changed/);
  }));

Deno.test("a setting is refused with the artifact that it belongs to", () =>
  inDirectory(async (root) => {
    const home = findHome({ PARE_HOME: root });
    const weights_id = "2".repeat(16);
    await storeWith(home.store, { ...artifact("0".repeat(16), weights_id), weights_id });
    assert.match(await refused(home, trialId(1)), new RegExp(`is a setting.*${weights_id}`));
  }));

Deno.test("a folder that cannot be made is one sentence, before any work", () =>
  inDirectory(async (root) => {
    await Deno.writeTextFile(join(root, "config.json"), "{}");
    const there = join(root, "config.json", "files");
    const ran = await pareWith({ PARE_HOME: root }, "convert", root, there, "--to", "gguf");
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /^pare: Cannot convert to .*config\.json\/files: .*$/);
  }));

Deno.test("torchao is refused with what to take in its place, another name with the choices", async () => {
  const said = async (format: string) => {
    const { code, stderr } = await pareWith({}, "convert", "t01", "/nowhere", "--to", format);
    assert.equal(code, 2);
    return stderr;
  };
  assert.match(await said("torchao"), /Cannot write torchao files: .*take compressed-tensors/);
  assert.match(await said("gguff"), /Allowed choices are gptq, awq, .*openvino, bitsandbytes/);
});

Deno.test("the formats of the command line are those that Python writes", async () => {
  const folder = new URL("../../../../python-backends/pare_backends/conversion/", import.meta.url);
  const names = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".py")) continue;
    const text = await Deno.readTextFile(new URL(name, folder));
    const [, own] = /^(?: {4}NAME: ClassVar\[str\]|NAME) = "(.+)"$/m.exec(text) ?? [];
    if (own !== undefined) names.push(own);
  }
  assert.deepEqual(names.sort(), [...CONVERSIONS].sort());
});
