import assert from "node:assert/strict";
import { journalOf } from "../../../fixtures/stores/journals.ts";
import { join } from "node:path";
import { withFileLock } from "../../../../python-backends/file_lock.ts";
import { openArtifactStore } from "../../../../tracker/artifacts/artifact_store.ts";
import { flockOwner, lockOwner, tryLock } from "../../../../python-backends/file_lock.ts";
import { readJournal } from "../../../../tracker/store/journal/reader.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { runOwner, runOwners } from "../../../../tracker/store/shelf/writers.ts";
import { runPaths, storePaths } from "../../../../tracker/store/store_paths.ts";
import { numbered } from "../../../fixtures/stores/kill_rounds.ts";
import { startScript } from "../../../fixtures/programs.ts";
import { inDirectory, oneStudyWriter } from "../../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../../fixtures/stores/records.ts";

async function recordsIn(path: string): Promise<number> {
  return (await Array.fromAsync(readJournal(path))).filter(({ kind }) => kind === "record").length;
}

Deno.test("A removed lock lets no second writer in: it is told who writes, since when, no path", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const writer = await startScript(directory, oneStudyWriter(root));
    const paths = runPaths(root, STUDY);
    try {
      await writer.line();
      for (let round = 0; round < 2; round++) {
        await Deno.remove(paths.lock);
        await using other = await openStore(root, { write: true, wait_ms: 0 });
        const refusal = await other.take(STUDY).then(() => null, (error: Error) => error);
        assert.ok(refusal !== null, "a second writer got in");
        assert.match(
          refusal.message,
          new RegExp(`^Cannot write the study ${STUDY} in the store .* as process ${writer.pid} `),
        );
        assert.doesNotMatch(refusal.message, /lock/i);
        assert.equal(runOwner(root, STUDY)?.pid, writer.pid);
        assert.equal(flockOwner(paths.folder)?.pid, writer.pid);
        // The writer makes the file again with its next records.
        const until = performance.now() + 30_000;
        while (lockOwner(paths.lock) === null && performance.now() < until) await writer.line();
        assert.match(lockOwner(paths.lock)?.since ?? "", /^20\d\d-/);
        assert.deepEqual(runOwners(storePaths(root)).map(({ study_id, pid }) => [study_id, pid]), [
          [STUDY, writer.pid],
        ]);
      }
    } finally {
      await writer.kill();
    }
    const entries = await Array.fromAsync(readJournal(paths.journal));
    assert.deepEqual(entries.filter(({ kind }) => kind !== "record"), []);
  }));

Deno.test("A store that is closed has its index caught up, and nothing beside its journal", () =>
  inDirectory(async (root) => {
    const store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    await store.close();
    await using reader = await openStore(root, { write: false });
    const { caught_up, error } = await reader.status();
    assert.deepEqual([caught_up, error], [true, null]);
    const names = (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.includes("rescued")), []);
  }));

/** What may happen to a journal while it is written, and what its writer says of it. */
const LOSSES: Record<
  string,
  { lose: (path: string) => Promise<void>; said: RegExp; kept: boolean; at_flush?: false }
> = {
  "is removed": { lose: (path) => Deno.remove(path), said: /as it was removed; what/, kept: true },
  "goes with its folder": {
    lose: (path) => Deno.remove(join(path, ".."), { recursive: true }),
    said: /as it was removed; what/,
    kept: true,
  },
  "is replaced by a copy": {
    lose: async (path) => {
      await Deno.copyFile(path, `${path}.copy`);
      await Deno.rename(`${path}.copy`, path);
    },
    said: /as another file was put in its place; what/,
    kept: true,
  },
  "is cut": {
    lose: (path) => Deno.truncate(path, 5000),
    said: /as it was cut to 5000 bytes, of \d+ that were written; stop/,
    kept: false,
  },
  "is written by something else": {
    lose: (path) => Deno.writeTextFile(path, "other\n", { append: true }),
    said: /as something else wrote to it: it has \d+ bytes, of \d+ that were written here/,
    kept: false,
    at_flush: false, // others may append: what it is shows when something follows it
  },
};
for (const [what, { lose, said, kept, at_flush = true }] of Object.entries(LOSSES)) {
  Deno.test(`A journal that ${what} under its writer acknowledges nothing more, and closing ends`, () =>
    inDirectory(async (directory) => {
      const store = await openStore(join(directory, "store"), { write: true });
      const { root, database } = store.paths;
      const journal = journalOf(root);
      await store.take(STUDY);
      for (const record of studyRecords()) await store.record(record);
      assert.ok((await store.flush()).caught_up);
      const whole = await recordsIn(journal);
      await lose(journal);
      const status = await store.flush();
      if (at_flush) assert.match(status.error ?? "caught up", said);
      await assert.rejects(store.record(numbered(1)), said);
      await assert.rejects(store.record(numbered(2)), said);
      await store.close();
      const index = await Deno.stat(`${database}.damaged-1`).then(() => "set aside", () => "left");
      assert.equal(index, "left", "the index is not made from what stands there");
      if (kept) assert.equal(await recordsIn(`${journal}.rescued-1`), whole);
    }));
}

Deno.test("A removed lock file of artifacts, timings and environments lets no second one in", () =>
  inDirectory(async (directory) => {
    using _first = tryLock(join(directory, "a.lock"), directory)!;
    await Deno.remove(join(directory, "a.lock"));
    assert.equal(tryLock(join(directory, "a.lock"), directory), null);
    const root = join(directory, "artifacts");
    using artifacts = await openArtifactStore(root);
    using _holder = tryLock(join(root, ".lock"), root)!;
    await Deno.remove(join(root, ".lock"));
    let done = false;
    const gc = artifacts.gc({ maxBytes: 0, keep: [] }).then(() => done = true);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(done, false, "gc works while another has the artifacts");
    _holder.release();
    await gc;
    const home = join(directory, "home");
    const path = join(home, "timing.lock");
    let inside = 0;
    const timed = (ms: number) =>
      withFileLock(path, { guard: home }, async () => {
        assert.equal(inside++, 0, "two at once");
        await new Promise((resolve) => setTimeout(resolve, ms));
        inside--;
      });
    const first = timed(500);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await Deno.remove(path);
    await Promise.all([first, timed(0)]);
  }));
