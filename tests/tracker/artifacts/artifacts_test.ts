import assert from "node:assert/strict";
import { join } from "node:path";
import { actionKey, canonicalJson } from "../../../tracker/artifacts/action_key.ts";
import { type ArtifactMeta, openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { makeRoom } from "../../../tracker/artifacts/make_room.ts";
import { acquireLock, lockOwner, tryLock } from "../../../python-backends/file_lock.ts";
import { storageFailure, storageFault } from "../../../tracker/ground/storage/storage_error.ts";
import { startScript } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT } from "../../fixtures/stores/records.ts";

function meta(name: string, parent_id: string | null = null): ArtifactMeta {
  return {
    action_key: sha256Text(name),
    parent_id,
    action: parent_id === null
      ? null
      : { agent: "quantization", method: name, params: { bits: 4 }, resolved: [] },
    formula_bytes: null,
    weight_bits: 4.5,
    activation_bits: null,
    verification: null,
    created_at: AT,
  };
}

async function write(directory: string, bytes: number, fill = 1): Promise<string> {
  await Deno.mkdir(join(directory, "nested"), { recursive: true });
  await Deno.writeFile(join(directory, "model.safetensors"), new Uint8Array(bytes).fill(fill));
  await Deno.writeTextFile(join(directory, "nested", "config.json"), "{}");
  return directory;
}

async function names(directory: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name).sort();
}

Deno.test("actionKey() is the same for equal inputs and another for every changed one", () => {
  const inputs = {
    parent_id: "a",
    action: { agent: "quantization", method: "gptq", params: { bits: 4, group_size: 32 } },
    seed: 1,
    data_sha256: "c",
    source_closure_sha256: "s",
    environment_hash: "e",
  };
  const same = { ...inputs, action: { ...inputs.action, params: { group_size: 32, bits: 4 } } };
  assert.equal(actionKey(inputs), actionKey(same));
  const resolved = {
    ...inputs.action,
    resolved: [{ knob: "bits", value: 4, by: "user", reason: null }],
  };
  assert.equal(actionKey(inputs), actionKey({ ...inputs, action: resolved }));
  const others = [
    { ...inputs, parent_id: "b" },
    { ...inputs, action: { ...inputs.action, params: { bits: 4, group_size: 64 } } },
    { ...inputs, action: { ...inputs.action, params: { bits: "4", group_size: 32 } } },
    { ...inputs, seed: 2 },
    { ...inputs, data_sha256: null },
    { ...inputs, source_closure_sha256: "t" },
    { ...inputs, environment_hash: "f" },
  ];
  assert.equal(new Set([inputs, ...others].map(actionKey)).size, others.length + 1);
  assert.throws(() => canonicalJson({ bits: NaN }), /Cannot hash NaN/);
});

Deno.test("ArtifactStore.commit() keeps a directory that a fresh store finds by its key", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    assert.equal(await store.find(meta("a").action_key), null);
    const made = await store.commit(await write(await store.begin(), 1000), meta("a"));
    assert.equal(made.size_bytes, 1000);
    assert.deepEqual(made.files.map(({ path }) => path), [
      "model.safetensors",
      "nested/config.json",
    ]);
    assert.match(made.artifact_id, /^[0-9a-f]{16}$/);
    using fresh = await openArtifactStore(root);
    assert.deepEqual(await fresh.find(made.action_key), made);
    assert.deepEqual(await fresh.get(made.artifact_id), made);
    assert.deepEqual(await fresh.verifyChecksums(made), []);
    assert.deepEqual(await names(join(root, ".temporary")), []);
  }));

Deno.test("ArtifactStore moved as a whole is found where it is now", () =>
  inDirectory(async (root) => {
    const store = await openArtifactStore(join(root, "old"));
    const made = await store.commit(await write(await store.begin(), 10), meta("a"));
    store.close();
    await Deno.rename(join(root, "old"), join(root, "new"));
    using moved = await openArtifactStore(join(root, "new"));
    const found = await moved.find(made.action_key);
    assert.equal(found?.location, join(root, "new", made.artifact_id));
  }));

Deno.test("ArtifactStore.commit() of the same bytes by another action shares the files, not the lineage", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const first = await store.commit(await write(await store.begin(), 10), meta("a", "p1"));
    const second = await store.commit(await write(await store.begin(), 10), meta("b", "p2"));
    assert.equal(first.artifact_id, second.artifact_id);
    assert.equal((await store.find(first.action_key))?.parent_id, "p1");
    assert.equal((await store.find(second.action_key))?.parent_id, "p2");
    assert.equal((await store.list()).length, 1);
  }));

Deno.test("ArtifactStore.verifyChecksums() finds a flipped bit; find() a file that is cut or gone", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const made = await store.commit(await write(await store.begin(), 1000), meta("a"));
    const weights = join(made.location, "model.safetensors");
    const bytes = await Deno.readFile(weights);
    bytes[500] = bytes[500]! ^ 1;
    await Deno.writeFile(weights, bytes);
    assert.deepEqual(await store.verifyChecksums(made), [`${weights} has another checksum`]);
    await Deno.truncate(weights, 999);
    assert.match((await store.verifyChecksums(made))[0]!, /has 999 bytes: 1000 were written/);
    assert.equal(await store.find(made.action_key), null);
    const again = await store.commit(await write(await store.begin(), 1000), meta("a"));
    assert.deepEqual(await store.verifyChecksums(again), []);
    await Deno.remove(weights);
    assert.equal(await store.find(made.action_key), null);
    await assert.rejects(store.find("../../etc"), /not a SHA-256/);
  }));

Deno.test("ArtifactStore.adopt() leaves a user's checkpoint where it is and reads it once", () =>
  inDirectory(async (root) => {
    const checkpoint = await write(join(root, "checkpoint"), 300);
    using store = await openArtifactStore(join(root, "artifacts"));
    const adopted = await store.adopt(checkpoint, meta("import"));
    assert.equal(adopted.location, await Deno.realPath(checkpoint));
    assert.deepEqual(await store.find(adopted.action_key), adopted);
    const { mtime } = await Deno.stat(join(root, "artifacts", ".hashes.json"));
    assert.equal((await store.adopt(checkpoint, meta("import"))).artifact_id, adopted.artifact_id);
    const after = await Deno.stat(join(root, "artifacts", ".hashes.json"));
    assert.deepEqual(after.mtime, mtime);
    await write(checkpoint, 300, 2);
    assert.notEqual(
      (await store.adopt(checkpoint, meta("import"))).artifact_id,
      adopted.artifact_id,
    );
    const report = await store.gc({ maxBytes: 0, keep: [] });
    assert.deepEqual(report.removed, []);
    assert.deepEqual(await names(checkpoint), ["model.safetensors", "nested"]);
  }));

Deno.test("ArtifactStore.gc() removes the longest unused first, never what is kept, imports last", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const ids: string[] = [];
    for (const [n, parent] of [null, "p", "p", "p", "p"].entries()) {
      const made = await store.commit(
        await write(await store.begin(), 1000, n),
        meta(`m${n}`, parent),
      );
      ids.push(made.artifact_id);
      const used = new Date(Date.parse(AT) + n * 1000);
      await Deno.utime(join(made.location, "manifest.json"), used, used);
    }
    const size = 1002;
    const keep = [ids[2]!];
    const plan = await store.gc({ maxBytes: 3 * size, keep, dryRun: true });
    assert.deepEqual(plan.removed.map((one) => one.artifact_id), [ids[1], ids[3]]);
    assert.equal((await store.list()).length, 5);
    const done = await store.gc({ maxBytes: 3 * size, keep });
    assert.deepEqual(done, plan);
    assert.deepEqual([done.freed_bytes, done.total_bytes, done.over], [2 * size, 3 * size, false]);
    assert.equal(done.removed[0]!.method, "m1");
    assert.equal(await store.find(meta("m1").action_key), null);
    const all = await store.gc({ maxBytes: 0, keep });
    assert.deepEqual(all.removed.map((one) => one.artifact_id), [ids[4], ids[0]]);
    assert.equal(all.over, true);
    assert.deepEqual((await store.list()).map((one) => one.artifact_id), keep);
    const again = await store.commit(await write(await store.begin(), 1000, 1), meta("m1", "p"));
    assert.equal(again.artifact_id, ids[1]);
  }));

Deno.test("ArtifactStore.gc() leaves what another living process uses and clears after dead ones", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "artifacts");
    using store = await openArtifactStore(root);
    const made = await store.commit(await write(await store.begin(), 1000), meta("a", "p"));
    const child = await startScript(
      directory,
      `import { openArtifactStore } from ${
        JSON.stringify(import.meta.resolve("../../../tracker/artifacts/artifact_store.ts"))
      };
       const store = await openArtifactStore(${JSON.stringify(root)});
       await store.find(${JSON.stringify(made.action_key)});
       console.log(await store.begin());
       setInterval(() => {}, 1000);`,
    );
    const temporary = await child.line();
    assert.deepEqual((await store.gc({ maxBytes: 0, keep: [] })).removed, []);
    assert.ok((await Deno.stat(temporary!)).isDirectory);
    await child.kill();
    const after = await store.gc({ maxBytes: 0, keep: [] });
    assert.equal(after.removed[0]!.artifact_id, made.artifact_id);
    assert.deepEqual(await names(join(root, ".temporary")), []);
  }));

Deno.test("openFolderCache() makes a directory once, also for two that want it together", () =>
  inDirectory(async (root) => {
    const cache = openFolderCache(root);
    let made = 0;
    const make = async (directory: string): Promise<void> => {
      made++;
      await new Promise((resolve) => setTimeout(resolve, 30));
      await Deno.writeTextFile(join(directory, "graph.xml"), "<graph/>");
    };
    const both = await Promise.all([
      cache.cached("graph", "k/1", make),
      cache.cached("graph", "k/1", make),
    ]);
    assert.equal(made, 1);
    assert.deepEqual(both.map((one) => one.made).sort(), [false, true]);
    assert.equal(await cache.peek("graph", "k/1"), both[0]!.directory);
    assert.deepEqual(await names(both[0]!.directory), ["graph.xml"]);
    assert.equal(await cache.peek("graph", "k/2"), null);
  }));

Deno.test("openFolderCache() leaves nothing of a make that failed", () =>
  inDirectory(async (root) => {
    const cache = openFolderCache(root);
    const failing = async (directory: string): Promise<void> => {
      await Deno.writeTextFile(join(directory, "half"), "");
      throw new Error("no room");
    };
    await assert.rejects(cache.cached("graph", "k", failing), /no room/);
    assert.equal(await cache.peek("graph", "k"), null);
    assert.deepEqual(await names(join(root, ".temporary")), []);
    assert.equal((await cache.cached("graph", "k", async () => {})).made, true);
  }));

/** A cached form of so many bytes, last used at a second. */
async function form(root: string, kind: string, key: string, bytes: number, second: number) {
  const cache = openFolderCache(root);
  const { directory } = await cache.cached(kind, key, async (folder) => {
    await Deno.mkdir(join(folder, "inner"));
    await Deno.writeFile(join(folder, "inner", "weights.bin"), new Uint8Array(bytes));
  });
  const used = new Date(Date.parse(AT) + second * 1000);
  await Deno.utime(directory, used, used);
}

/** Gives the forms back that this process used, as if it had ended. */
const endUse = (root: string) => Deno.remove(join(root, ".leases"), { recursive: true });

Deno.test("FolderCache.gc() removes forms of artifacts, the longest unused first, and no inputs", () =>
  inDirectory(async (root) => {
    const cache = openFolderCache(root);
    await form(root, "forms", "a", 1000, 3);
    await form(root, "forms", "b", 1000, 1);
    await form(root, "forms", "c", 1000, 2);
    await form(root, "data", "d", 1000, 0);
    await form(root, "models", "e", 1000, 0);
    await endUse(root);
    const report = await cache.gc(2000);
    assert.deepEqual(report.removed, [{ kind: "forms", key: "b", bytes: 1000 }]);
    assert.equal(report.total_bytes, 2000);
    assert.deepEqual((await cache.gc(0)).removed.map(({ key }) => key), ["c", "a"]);
    for (const [kind, key] of [["data", "d"], ["models", "e"]] as const) {
      assert.ok(await cache.peek(kind, key));
    }
    assert.equal((await cache.cached("forms", "a", async () => {})).made, true);
  }));

Deno.test("FolderCache.gc() removes what an earlier version kept, however much room there is", () =>
  inDirectory(async (root) => {
    const cache = openFolderCache(root);
    await form(root, "graphs", "b", 1000, 5);
    await form(root, "gguf", "c", 1000, 6);
    await form(root, "forms", "a", 1000, 1);
    await endUse(root);
    const report = await cache.gc(1e9);
    assert.deepEqual(report.removed.map(({ kind }) => kind), ["graphs", "gguf"]);
    assert.equal(report.total_bytes, 1000);
    assert.ok(await cache.peek("forms", "a"));
  }));

Deno.test("FolderCache.gc() leaves what a living process uses, and clears after dead ones", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "cache");
    await form(root, "forms", "used", 1000, 0);
    await endUse(root);
    const child = await startScript(
      directory,
      `import { openFolderCache } from ${
        JSON.stringify(import.meta.resolve("../../../tracker/artifacts/folder_cache.ts"))
      };
       const cache = openFolderCache(${JSON.stringify(root)});
       await cache.cached("forms", "used", () => Promise.reject(new Error("it is there")));
       console.log((await cache.scratch()).directory);
       setInterval(() => {}, 1000);`,
    );
    const scratch = await child.line();
    const cache = openFolderCache(root);
    assert.deepEqual(await cache.gc(0), { removed: [], total_bytes: 1000 });
    assert.ok((await Deno.stat(scratch!)).isDirectory);
    await child.kill();
    assert.deepEqual((await cache.gc(0)).removed.map(({ key }) => key), ["used"]);
    assert.deepEqual(await names(join(root, ".temporary")), []);
  }));

Deno.test("makeRoom() removes forms before artifacts, and counts both", () =>
  inDirectory(async (directory) => {
    using artifacts = await openArtifactStore(join(directory, "artifacts"));
    const root = join(directory, "cache");
    const caches = openFolderCache(root);
    for (const n of [0, 1]) {
      await artifacts.commit(await write(await artifacts.begin(), 1000, n), meta(`m${n}`, "p"));
    }
    await form(root, "forms", "a", 1000, 0);
    const all = 2 * 1002 + 1000;
    const none = await makeRoom({ artifacts, caches }, { maxBytes: all, keep: [] });
    assert.deepEqual([none.forms.removed, none.artifacts.removed], [[], []]);
    // In use: what it takes is wanting to the artifacts.
    const used = await makeRoom({ artifacts, caches }, { maxBytes: all - 1, keep: [] });
    assert.deepEqual([used.forms.removed, used.artifacts.removed.length], [[], 1]);
    await endUse(root);
    const freed = await makeRoom({ artifacts, caches }, { maxBytes: 1002, keep: [] });
    assert.deepEqual([freed.forms.removed.length, freed.artifacts.removed.length], [1, 0]);
    assert.equal(freed.artifacts.total_bytes + freed.forms.total_bytes, 1002);
  }));

Deno.test("tryLock() has one owner; a killed owner's lock is taken over and said", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "lock");
    const child = await startScript(
      directory,
      `import { tryLock } from ${
        JSON.stringify(import.meta.resolve("../../../python-backends/file_lock.ts"))
      };
       const lock = tryLock(${JSON.stringify(path)});
       console.log(lock === null);
       setInterval(() => lock, 1000);`,
    );
    assert.equal(await child.line(), "false");
    assert.equal(tryLock(path), null);
    assert.equal(lockOwner(path)?.pid, child.pid);
    await assert.rejects(
      acquireLock(path, { what: "the thing", wait_ms: 20 }),
      /the thing .* process \d+/,
    );
    await child.kill();
    assert.equal(lockOwner(path), null);
    using lock = tryLock(path)!;
    assert.equal(lock.took_over?.pid, child.pid);
    lock.release();
    using next = tryLock(path)!;
    assert.equal(next.took_over, null);
  }));

Deno.test("storageFailure() names a full disk and nothing else so", () => {
  const full = Object.assign(new Error("No space left on device (os error 28)"), {
    code: "ENOSPC",
  });
  assert.equal(storageFailure(full, "apply").kind, "disk_full");
  assert.equal(storageFailure(new Error("Permission denied (os error 13)"), "apply").kind, "crash");
  const large = storageFailure(new Error("File too large (os error 27)"), "apply");
  assert.deepEqual([large.kind, /so large here/.test(large.message)], ["crash", true]);
  assert.equal(storageFault(new Error("os error 280")), null);
});
