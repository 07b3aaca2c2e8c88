/** Artifacts: one by its hash is whole or absent, and no store's is taken by another one's collection. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Artifact } from "../../../core/mod.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { artifactClaims } from "../../../tracker/lab/kept_artifacts.ts";
import { openRunWriter } from "../../../tracker/store/shelf/run_writer.ts";
import { artifact, AT, STUDY, studyOpened, trialId } from "../../fixtures/stores/records.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import type { Target } from "./target.ts";

const KEY = "ab".repeat(32);

/** An artifact that two stores know, and the second one alone needs: its study is not closed. */
async function madeArtifact(root: string, needed_by: string, other: string): Promise<Artifact> {
  using artifacts = await openArtifactStore(join(root, "artifacts"), { store: needed_by });
  using again = await openArtifactStore(join(root, "artifacts"), { store: other });
  const written = await artifacts.begin();
  await Deno.writeTextFile(join(written, "model.safetensors"), "weights".repeat(9));
  await Deno.writeTextFile(join(written, "config.json"), "{}");
  const { artifact_id: _, location: __, files: ___, size_bytes: ____, ...meta } = artifact(
    "a",
    null,
  );
  const made = await artifacts.commit(written, { ...meta, action_key: KEY });
  await again.get(made.artifact_id);
  for (const store of [needed_by, other]) {
    const writer = await openRunWriter(store, STUDY, 0);
    await writer.journal.append(studyOpened());
    const own = { at: AT, study_id: STUDY };
    const written = { ...made, location: "." };
    const of_trial = { ...own, trial_id: trialId(0) };
    await writer.journal.append({
      type: "artifact_written",
      ...of_trial,
      artifact: written,
      cached: false,
    });
    // Closed, and nothing of it is recommended: this store needs it no more.
    if (store === other) {
      const end = { stop: "max_trials", message: "as asked", recommended: null } as const;
      await writer.journal.append({ type: "study_closed", ...own, ...end });
    }
    await writer.close();
  }
  return made;
}

export async function artifactTargets(root: string): Promise<Target[]> {
  const [needing, other] = [join(root, "needing"), join(root, "other")];
  const made = await madeArtifact(root, needing, other);
  const folder = join(root, "artifacts");
  const file = (path: string) => ({ path, bytes: Deno.readFileSync(path) });
  const manifest = file(join(folder, made.artifact_id, "manifest.json"));
  const key = file(join(folder, "keys", `${KEY}.json`));
  const held = async () => {
    using store = await openArtifactStore(folder);
    await holdInvariants({ artifacts: { store, made: [made.artifact_id], needed: [] } });
    const found = await store.find(KEY);
    if (found !== null) {
      const files = JSON.stringify(found.files);
      assert.equal(files, JSON.stringify(made.files), "a key leads to what it did not make");
    } else sometimes("a damaged key or manifest means making it again");
  };
  const small = ({ path, bytes }: { path: string; bytes: Uint8Array }, name: string): Target => ({
    ...{ file: name, bytes, lines: false, kind: "survivable", most: 3_000 },
    async check({ bytes: damaged }) {
      Deno.writeFileSync(path, damaged);
      try {
        await held();
      } finally {
        Deno.writeFileSync(path, bytes);
      }
    },
  });
  return [
    small(manifest, "artifacts/ID/manifest.json"),
    small(key, "artifacts/keys/KEY.json"),
    ...claimTargets(folder, needing, other, made.artifact_id),
  ];
}

/** The list of what a store uses: while it cannot be read, nothing that may stand there goes. */
function claimTargets(folder: string, needing: string, other: string, id: string): Target[] {
  const lists = join(folder, ".stores");
  const paths = [...Deno.readDirSync(lists)].map(({ name }) => join(lists, name));
  const listOf = (store: string) =>
    paths.find((path) => Deno.readTextFileSync(path).includes(Deno.realPathSync(store)))!;
  const path = listOf(needing);
  const bytes = Deno.readFileSync(path);
  return [{
    ...{ file: "artifacts/.stores/STORE.claims", bytes, lines: true, kind: "survivable" },
    async check({ bytes: damaged }) {
      using _whole = { [Symbol.dispose]: () => Deno.writeFileSync(path, bytes) };
      Deno.writeFileSync(path, damaged);
      using store = await openArtifactStore(folder);
      const report = await store.gc({
        ...{ maxBytes: 0, keep: [], dryRun: true },
        ask: () => artifactClaims(store, [other]),
      });
      const gone = report.removed.map(({ artifact_id }) => artifact_id);
      assert.deepEqual(gone, [], `${id} would go, and the store ${needing} needs it`);
      // Who uses it again writes it down again, and it stands there then.
      using again = await openArtifactStore(folder, { store: needing });
      await again.get(id);
      const own = again.claimants().find((one) => one.store === Deno.realPathSync(needing));
      assert.ok(own?.artifact_ids.has(id), "what is used again does not stand in the list");
    },
  }];
}
