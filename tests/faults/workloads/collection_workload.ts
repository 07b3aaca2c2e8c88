/**
 * A study that makes artifacts and takes up old ones, while another process collects for another store what
 * nobody needs: whatever a power cut leaves, what the study's journal names is there, and whole.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { artifactClaims } from "../../../tracker/lab/kept_artifacts.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { AT, STUDY } from "../../fixtures/stores/records.ts";
import { scriptWords } from "../crash/record.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { actionKey, make, nameIn, publish, wordsOf } from "./made_artifacts.ts";
import { acknowledge, standing, type Workload } from "./workload.ts";

/** Of a study that has ended, in the store for which is collected: nobody needs them. */
const OLD = [1, 2, 3];
/** What the study needs in turn: new ones, and two of the old that it may find. */
const NEEDED = [4, 1, 5, 2];

const storeOf = (root: string, name: "one" | "two") => join(root, name, "store");

async function collect(root: string): Promise<void> {
  using artifacts = await openArtifactStore(join(root, "artifacts"), {
    store: storeOf(root, "two"),
  });
  const ask = () => artifactClaims(artifacts, [storeOf(root, "two")]);
  await artifacts.gc({ maxBytes: 0, keep: [], ask });
}

/** Collects each time that it is told to. */
async function collecting(root: string): Promise<void> {
  for await (const _ of Deno.stdin.readable) {
    await collect(root);
    acknowledge("collected");
  }
  Deno.exit(0);
}

async function work(root: string): Promise<void> {
  const [program, ...words] = scriptWords(import.meta.filename!, root);
  const beside = new Deno.Command(program!, {
    ...{ args: [...words, "collects"], stdin: "piped", stdout: "inherit", stderr: "inherit" },
  }).spawn();
  const told = beside.stdin.getWriter();
  using artifacts = await openArtifactStore(join(root, "artifacts"), {
    store: storeOf(root, "one"),
  });
  for (const n of NEEDED) {
    await told.write(new TextEncoder().encode("now\n"));
    const made = await artifacts.find(actionKey(n)) ?? await make(artifacts, n);
    await publish(storeOf(root, "one"), made);
    acknowledge(`needs ${made.artifact_id}`);
  }
  await told.close();
  const { success } = await beside.status;
  assert.ok(success, "the collection fails");
  Deno.exit(0);
}

export const collectionWorkload: Workload = {
  name: "collection",
  script: import.meta.filename!,
  adds_up: true,
  async prepare(folder) {
    for (const name of ["one", "two"] as const) standing(folder, name, "store");
    using artifacts = await openArtifactStore(join(folder, "artifacts"), {
      store: storeOf(folder, "two"),
    });
    await using writer = await openStore(storeOf(folder, "two"), { write: true });
    writer.pauseSink();
    for (const n of OLD) await nameIn(writer, await make(artifacts, n));
    const end = { stop: "max_trials", message: "as asked", recommended: null } as const;
    await writer.record({ type: "study_closed", at: AT, study_id: STUDY, ...end });
    await writer.release(STUDY);
  },
  async check(root, acknowledged) {
    using store = await openArtifactStore(join(root, "artifacts"), {
      store: storeOf(root, "one"),
    });
    const needed = wordsOf(acknowledged, "needs");
    const whole = async () => {
      await holdInvariants({ artifacts: { store, made: needed, needed } });
      for (const { artifact_id } of await store.list()) {
        await holdInvariants({ artifacts: { store, made: [artifact_id], needed: [] } });
      }
    };
    await whole();
    const before = (await store.list()).length;
    await collect(root);
    await whole();
    if ((await store.list()).length < before) {
      sometimes("a collection that was cut off is taken up");
    }
    if (needed.length > 0 && needed.length < NEEDED.length) {
      sometimes("a study beside a collection is cut off");
    }
    assert.deepEqual(readdirSync(join(root, "artifacts", ".temporary")), [], "a half is left");
    for (const n of NEEDED) { // it goes on
      const made = await store.find(actionKey(n)) ?? await make(store, n);
      assert.deepEqual(await store.verifyChecksums(made), [], `${n} is not what was made`);
    }
  },
};

if (import.meta.main) await (Deno.args[1] === "collects" ? collecting : work)(Deno.args[0]!);
