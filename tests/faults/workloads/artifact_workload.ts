/** Two stores that share artifacts: made, published in journals, collected. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type ArtifactStore,
  openArtifactStore,
} from "../../../tracker/artifacts/artifact_store.ts";
import { artifactClaims } from "../../../tracker/lab/kept_artifacts.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { AT, STUDY } from "../../fixtures/stores/records.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { make, publish, wordsOf } from "./made_artifacts.ts";
import { acknowledge, type Workload } from "./workload.ts";

const STORES = ["one", "two"] as const;

function collect(root: string, artifacts: ArtifactStore) {
  const ask = () => artifactClaims(artifacts, [join(root, "one", "store")]);
  return artifacts.gc({ maxBytes: 0, keep: [], ask });
}

/** The first artifact is both stores', the second one the first's alone. */
async function work(root: string): Promise<void> {
  for (const name of STORES) Deno.mkdirSync(join(root, name, "store"), { recursive: true });
  const [own, other] = await Promise.all(
    STORES.map((name) =>
      openArtifactStore(join(root, "artifacts"), { store: join(root, name, "store") })
    ),
  );
  const shared = await make(own!, 1);
  acknowledge(`made ${shared.artifact_id}`);
  await publish(join(root, "one", "store"), shared);
  acknowledge(`one ${shared.artifact_id}`);
  await other!.get(shared.artifact_id);
  await publish(join(root, "two", "store"), shared);
  acknowledge(`two ${shared.artifact_id}`);
  const alone = await make(own!, 2);
  acknowledge(`made ${alone.artifact_id}`);
  const end = { stop: "max_trials", message: "as asked", recommended: null } as const;
  const writer = await openStore(join(root, "one", "store"), { write: true });
  writer.pauseSink();
  await writer.record({ type: "study_closed", at: AT, study_id: STUDY, ...end });
  await writer.release(STUDY);
  acknowledge("closed one");
  await collect(root, own!);
  acknowledge(`gone ${alone.artifact_id}`);
  Deno.exit(0);
}

export const artifactWorkload: Workload = {
  name: "artifacts",
  script: import.meta.filename!,
  adds_up: false,
  async check(root, acknowledged) {
    using store = await openArtifactStore(join(root, "artifacts"));
    const made = wordsOf(acknowledged, "made");
    const closed = acknowledged.includes("closed one");
    // What a journal names is there, until its study needs it no more.
    const needed = [...wordsOf(acknowledged, "two"), ...closed ? [] : wordsOf(acknowledged, "one")];
    await holdInvariants({ artifacts: { store, made, needed } });
    for (const { artifact_id } of await store.list()) {
      await holdInvariants({ artifacts: { store, made: [artifact_id], needed: [] } });
    }
    if (!existsSync(join(root, "one", "store", "runs"))) return;
    const report = await collect(root, store);
    if (report.removed.length > 0) {
      sometimes("a collection after a power cut takes what nobody needs");
    }
    await holdInvariants({ artifacts: { store, made: needed, needed } });
    const again = await make(store, 3); // the next one can be made
    assert.deepEqual(await store.verifyChecksums(again), []);
  },
};

if (import.meta.main) await work(Deno.args[0]!);
