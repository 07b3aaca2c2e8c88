/** Artifacts are shared by every store of a home: none loses what it keeps to another one's gc. */
import { journalOf } from "../../fixtures/stores/journals.ts";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { makeRoom } from "../../../tracker/artifacts/make_room.ts";
import { artifactClaims } from "../../../tracker/lab/kept_artifacts.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { pareWith } from "../../fixtures/stores/pare.ts";
import { startScript } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, studyRecords } from "../../fixtures/stores/records.ts";

/** Bytes of each artifact's weights. */
const SIZE = 1000;

/** The records of a study whose n-th trial made the n-th artifact. */
function withArtifacts(study_id: string, ids: readonly string[]): JournalRecord[] {
  const numberOf = (trial_id: string) => Number(trial_id.at(-1));
  return studyRecords(study_id).flatMap((record): JournalRecord[] => {
    if (record.type === "artifact_written") {
      const id = ids[numberOf(record.trial_id)];
      if (id === undefined) return [];
      return [{ ...record, artifact: { ...record.artifact, artifact_id: id } }];
    }
    if (record.type !== "trial_closed") return [record];
    const id = ids[numberOf(record.trial.trial_id)];
    return [{ ...record, trial: { ...record.trial, artifact_ids: id === undefined ? [] : [id] } }];
  });
}

/**
 * A study in a store of the home, with an artifact for each of its three trials; the second is
 * beaten. Gives the ids by trial; `claim` false: as a pare did that wrote nothing down.
 */
async function runStudy(
  home: string,
  store: string,
  seed: number,
  claim = true,
): Promise<string[]> {
  const options = claim ? { store } : {};
  using artifacts = await openArtifactStore(join(home, "artifacts"), options);
  const ids: string[] = [undefined as never]; // the baseline made none
  for (const n of [1, 2, 3]) {
    const directory = await artifacts.begin();
    await Deno.writeFile(join(directory, "model.safetensors"), new Uint8Array(SIZE).fill(seed + n));
    const { artifact_id } = await artifacts.commit(directory, {
      action_key: sha256Text(`${seed} ${n}`),
      parent_id: "f".repeat(16),
      action: null,
      formula_bytes: null,
      weight_bits: 4,
      activation_bits: null,
      verification: null,
      created_at: AT,
    });
    ids.push(artifact_id);
  }
  await using writer = await openStore(store, { write: true });
  for (const record of withArtifacts(`study-${seed}`, ids)) await writer.record(record);
  return ids;
}

function there(home: string, ids: readonly string[]): boolean[] {
  return ids.slice(1).map((id) => existsSync(join(home, "artifacts", id)));
}

Deno.test("pare gc of one store keeps the front and the recommended of every other", () =>
  inDirectory(async (home) => {
    const [a, b] = [join(home, "store"), join(home, "elsewhere", "b")];
    const first = await runStudy(home, a, 0);
    const second = await runStudy(home, b, 10);
    for (const store of [a, b]) {
      const gc = ["gc", "--max-disk", "0.0001MB", "--store", store];
      const { code, stdout, stderr } = await pareWith({ PARE_HOME: home }, ...gc);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /4\.0 kB of artifacts are left/);
      assert.deepEqual(there(home, first), [true, false, true]);
      assert.deepEqual(there(home, second), [true, false, true]);
    }
  }));

Deno.test("pare gc keeps all that a store used which is gone or damaged, says so, and can forget it", () =>
  inDirectory(async (home) => {
    const b = join(home, "b");
    const ids = await runStudy(home, b, 0);
    const env = { PARE_HOME: home };
    const moved = join(home, "moved");
    await Deno.rename(b, moved);
    const gone = await pareWith(env, "gc", "--max-disk", "0.0001MB");
    assert.match(
      gone.stdout,
      new RegExp(
        `kept all that the store ${b} used as it is not there; .*: pare store forget ${b}`,
      ),
    );
    assert.deepEqual(there(home, ids), [true, true, true]);
    await Deno.rename(moved, b);
    const journal = journalOf(b, "study-0");
    const text = await Deno.readTextFile(journal);
    await Deno.writeTextFile(journal, text.replace('"seconds":12.5', '"seconds":99.5'));
    const damaged = await pareWith(env, "gc", "--max-disk", "0.0001MB");
    assert.match(damaged.stdout, /as runs\/.*journal\.jsonl is damaged at byte \d+/);
    assert.deepEqual(there(home, ids), [true, true, true]);
    const wrong = await pareWith(env, "store", "forget", join(home, "c"));
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, new RegExp(`as no artifact was used by it; known are ${b}`));
    assert.equal((await pareWith(env, "store", "forget", b)).code, 0);
    // Now they are of no known store: only who says so removes them.
    const unknown = await pareWith(env, "gc", "--max-disk", "0.0001MB");
    assert.match(unknown.stdout, /kept 3 artifacts \(3\.0 kB\) that no store known here names/);
    assert.deepEqual(there(home, ids), [true, true, true]);
    await pareWith(env, "gc", "--max-disk", "0.0001MB", "--unclaimed");
    assert.deepEqual(there(home, ids), [false, false, false]);
  }));

Deno.test("pare gc knows a store of an earlier pare by --store, and that of the home by itself", () =>
  inDirectory(async (home) => {
    const old = await runStudy(home, join(home, "store"), 0, false);
    const other = await runStudy(home, join(home, "other"), 10, false);
    const env = { PARE_HOME: home };
    await pareWith(env, "gc", "--max-disk", "0.0001MB");
    assert.deepEqual(there(home, old), [true, false, true]);
    assert.deepEqual(there(home, other), [true, true, true]);
    await pareWith(env, "gc", "--max-disk", "0.0001MB", "--store", join(home, "other"));
    assert.deepEqual(there(home, other), [true, false, true]);
    assert.deepEqual(there(home, old), [true, false, true]);
    const none = await pareWith(env, "gc", "--max-disk", "0.0001MB", "--store", join(home, "none"));
    assert.equal(none.code, 2);
  }));

Deno.test("gc while another store's process finds its artifacts takes none that it was given", () =>
  inDirectory(async (home) => {
    const ids = await runStudy(home, join(home, "store"), 0);
    const root = join(home, "artifacts");
    const finder = await startScript(
      home,
      `import { openArtifactStore } from ${
        JSON.stringify(import.meta.resolve("../../../tracker/artifacts/artifact_store.ts"))
      };
       const store = ${JSON.stringify(join(home, "second"))};
       using artifacts = await openArtifactStore(${JSON.stringify(root)}, { store });
       const found = await artifacts.find(${JSON.stringify(sha256Text("0 2"))});
       console.log(found.artifact_id);`,
    );
    assert.equal(await finder.line(), ids[2]);
    await finder.kill(); // its lease is given back; its store has recorded nothing yet
    using artifacts = await openArtifactStore(root);
    const caches = openFolderCache(join(home, "cache"));
    const ask = () => artifactClaims(artifacts, []);
    const { artifacts: report } = await makeRoom({ artifacts, caches }, {
      maxBytes: 0,
      keep: [],
      ask,
    });
    assert.deepEqual(report.removed, []);
    assert.deepEqual(report.unsure.map(({ reason }) => reason), ["it is not there"]);
    assert.deepEqual(there(home, ids), [true, true, true]);
  }));
