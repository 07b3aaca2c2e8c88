import assert from "node:assert/strict";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

Deno.test("a home that was moved shows its artifacts where they lie now, and a foreign one where it was", () =>
  inDirectory(async (folder) => {
    const [here, there] = [join(folder, "here"), join(folder, "there")];
    const ids: string[] = [];
    {
      await using store = await openStore(join(here, "store"), { write: true });
      for (const record of studyRecords()) {
        if (record.type !== "artifact_written") {
          await store.record(record);
          continue;
        }
        const { artifact_id } = record.artifact;
        const location = join(here, "artifacts", artifact_id);
        if (ids.length > 0) await mkdir(location, { recursive: true }); // the first is a user's own
        ids.push(artifact_id);
        await store.record({ ...record, artifact: { ...record.artifact, location } });
      }
    }
    assert.ok(ids.length > 1);
    await rename(here, there);
    await using store = await openStore(join(there, "store"), { write: false });
    const { artifacts } = await viewStudy(store, STUDY);
    assert.equal(artifacts.get(ids[0]!)!.location, join(here, "artifacts", ids[0]!));
    for (const id of ids.slice(1)) {
      assert.equal(artifacts.get(id)!.location, join(there, "store", "..", "artifacts", id));
    }
  }));
