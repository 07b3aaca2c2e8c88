import assert from "node:assert/strict";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Artifact } from "../../../core/mod.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { originalPlace } from "../../../tracker/show/view/study_view.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { runPaths } from "../../../tracker/store/store_paths.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

/** A study in a home: its original lies in a cache or elsewhere, what was made of it in the home. */
async function studyIn(
  home: string,
  original: string,
): Promise<{ original: Artifact; made: Artifact }> {
  const recorded = studyRecords().flatMap((one) =>
    one.type === "artifact_written" ? [one.artifact] : []
  );
  await mkdir(original, { recursive: true });
  await writeFile(join(original, "model.safetensors"), "weights of the original");
  using artifacts = await openArtifactStore(join(home, "artifacts"));
  const adopted = await artifacts.adopt(original, recorded[0]!);
  const folder = await artifacts.begin();
  await writeFile(join(folder, "model.safetensors"), "fewer bits");
  const made = await artifacts.commit(folder, { ...recorded[1]!, parent_id: adopted.artifact_id });
  await using store = await openStore(join(home, "store"), { write: true });
  let seen = 0;
  for (const record of studyRecords()) {
    if (record.type === "artifact_written") {
      if (seen < 2) await store.record({ ...record, artifact: [adopted, made][seen]! });
      seen += 1;
    } else await store.record(record);
  }
  return { original: adopted, made };
}

Deno.test("a journal has no place of an artifact: a home that was moved shows its artifacts where they lie now", () =>
  inDirectory(async (folder) => {
    const [here, there] = [join(folder, "here"), join(folder, "there")];
    const cached = join(here, "cache", "models", "abc");
    const { original, made } = await studyIn(here, cached);
    const { journal } = runPaths(join(here, "store"), STUDY);
    assert.doesNotMatch(await readFile(journal, "utf8"), new RegExp(here));
    await rename(here, there);
    await using store = await openStore(join(there, "store"), { write: false });
    const view = await viewStudy(store, STUDY);
    assert.equal(originalPlace(view), join(there, "cache", "models", "abc"));
    const place = view.artifacts.get(made.artifact_id)!.location;
    assert.equal(place, join(there, "artifacts", made.artifact_id));
    assert.equal(await readFile(join(place, "model.safetensors"), "utf8"), "fewer bits");
    using artifacts = await openArtifactStore(join(there, "artifacts"));
    for (const { artifact_id } of [original, made]) {
      const found = await artifacts.get(artifact_id);
      assert.deepEqual(found === null ? "gone" : await artifacts.verifyChecksums(found), []);
    }
  }));

Deno.test("an original of the user's own stays where it is when the home moves", () =>
  inDirectory(async (folder) => {
    const [here, there] = [join(folder, "home", "here"), join(folder, "home", "there")];
    const own = join(folder, "models", "mine");
    await studyIn(here, own);
    await rename(here, there);
    await using store = await openStore(join(there, "store"), { write: false });
    assert.equal(originalPlace(await viewStudy(store, STUDY)), await Deno.realPath(own));
  }));

Deno.test("a store that lies elsewhere finds its artifacts in the user's home", () =>
  inDirectory(async (folder) => {
    const home = join(folder, "home");
    const { made } = await studyIn(home, join(home, "cache", "m"));
    await mkdir(join(folder, "disk"));
    await rename(join(home, "store"), join(folder, "disk", "store"));
    const before = Deno.env.get("PARE_HOME");
    try {
      Deno.env.set("PARE_HOME", home);
      await using store = await openStore(join(folder, "disk", "store"), { write: false });
      const { artifacts } = await viewStudy(store, STUDY);
      const place = artifacts.get(made.artifact_id)!.location;
      assert.equal(place, join(home, "artifacts", made.artifact_id));
    } finally {
      if (before === undefined) Deno.env.delete("PARE_HOME");
      else Deno.env.set("PARE_HOME", before);
    }
  }));
