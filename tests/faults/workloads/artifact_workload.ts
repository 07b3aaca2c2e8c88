/** Two stores that share artifacts: made, published in journals, collected. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Artifact } from "../../../core/mod.ts";
import { writeAll } from "../../../python-backends/whole_file.ts";
import {
  type ArtifactStore,
  openArtifactStore,
} from "../../../tracker/artifacts/artifact_store.ts";
import { artifactClaims } from "../../../tracker/lab/kept_artifacts.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { artifact, AT, STUDY, studyOpened, trialId } from "../../fixtures/stores/records.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { acknowledge, type Workload } from "./workload.ts";

const STORES = ["one", "two"] as const;

async function make(artifacts: ArtifactStore, n: number): Promise<Artifact> {
  const written = await artifacts.begin();
  Deno.mkdirSync(join(written, "tokenizer"));
  for (
    const [name, text] of [["model.safetensors", `weights ${n} `.repeat(90)], [
      "tokenizer/words",
      "a",
    ]]
  ) {
    using file = Deno.openSync(join(written, name!), { write: true, create: true });
    writeAll(file, new TextEncoder().encode(text));
  }
  const { artifact_id: _, location: __, files: ___, size_bytes: ____, ...meta } = artifact(
    "a",
    null,
  );
  return await artifacts.commit(written, { ...meta, action_key: `${n}`.repeat(64) });
}

async function publish(store: string, made: Artifact): Promise<void> {
  const writer = await openStore(store, { write: true });
  writer.pauseSink();
  const opened = (await writer.studyIds()).includes(STUDY);
  if (!opened) await writer.record(studyOpened());
  const own = { at: AT, study_id: STUDY, trial_id: trialId(0) };
  await writer.record({
    type: "artifact_written",
    ...own,
    artifact: { ...made, location: "." },
    cached: false,
  });
  await writer.release(STUDY);
}

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

const of = (acknowledged: readonly string[], word: string) =>
  acknowledged.filter((one) => one.startsWith(`${word} `)).map((one) => one.slice(word.length + 1));

export const artifactWorkload: Workload = {
  name: "artifacts",
  script: import.meta.filename!,
  async check(root, acknowledged) {
    using store = await openArtifactStore(join(root, "artifacts"));
    const made = of(acknowledged, "made");
    const closed = acknowledged.includes("closed one");
    // What a journal names is there, until its study needs it no more.
    const needed = [...of(acknowledged, "two"), ...closed ? [] : of(acknowledged, "one")];
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
