import assert from "node:assert/strict";
import { join } from "node:path";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const KEY = sha256Text("an action");
const OTHER = sha256Text("another");

async function leave(directory: string, bytes = 3): Promise<void> {
  await Deno.writeFile(join(directory, "state.safetensors"), new Uint8Array(bytes));
}

async function names(directory: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name).sort();
}

Deno.test("what a killed action left in its working folder is found by the next of the same key", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const first = await store.workFolder(KEY);
    await leave(first.directory);
    const [lease] = await names(join(root, ".leases"));
    // As a killed process leaves it: its mark is there, and its number is no process any more.
    await Deno.rename(
      join(root, ".leases", lease!),
      join(root, ".leases", `work-${KEY}.4194303.1`),
    );
    const again = await store.workFolder(KEY);
    assert.equal(again.directory, first.directory);
    assert.deepEqual(await names(again.directory), ["state.safetensors"]);
    await again.release({ keep: true });
    assert.deepEqual(await names(join(root, ".work")), [KEY]);
    await (await store.workFolder(KEY)).release({ keep: false });
    assert.deepEqual(await names(join(root, ".work")), []);
  }));

Deno.test("two that make the same at once do not share a working folder", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const first = await store.workFolder(KEY);
    await leave(first.directory);
    const second = await store.workFolder(KEY);
    assert.notEqual(second.directory, first.directory);
    assert.deepEqual(await names(second.directory), []);
    await second.release({ keep: true });
    assert.deepEqual(await names(first.directory), ["state.safetensors"]);
    await first.release({ keep: true });
    assert.deepEqual(await names(join(root, ".temporary")), []);
  }));

Deno.test("gc removes working folders that nobody uses before any artifact, and none in use", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const idle = await store.workFolder(KEY);
    await leave(idle.directory, 500);
    await idle.release({ keep: true });
    const used = await store.workFolder(OTHER);
    await leave(used.directory, 500);
    const room = await store.gc({ maxBytes: 500, keep: [], dryRun: true });
    assert.deepEqual(room.removed_work, [], "it fits: only what nobody works on counts");
    const report = await store.gc({ maxBytes: 0, keep: [] });
    assert.deepEqual(report.removed_work, [{ action_key: KEY, bytes: 500 }]);
    assert.equal(report.freed_bytes, 500);
    assert.deepEqual(await names(join(root, ".work")), [OTHER]);
    await used.release({ keep: false });
  }));
