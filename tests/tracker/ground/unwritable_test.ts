import assert from "node:assert/strict";
import { execa } from "execa";
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findHome } from "../../../tracker/ground/home.ts";
import { newFolders } from "../../../tracker/lab/new_folders.ts";
import { lacksStrace } from "../../faults/crash/record.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { numbered } from "../../fixtures/stores/kill_rounds.ts";
import { storageError, storageFault } from "../../../tracker/ground/storage/storage_error.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const CLI = [Deno.execPath(), "run", "--allow-all", "--no-check", "tracker/cli.ts"];
const RUN = ["run", "--yes", "--model", "tiny", "--dataset"];

async function inDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await work(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const options = (home: string) => ({
  cwd: ROOT,
  reject: false as const,
  stdin: "ignore" as const,
  env: { NO_COLOR: "1", PARE_HOME: home },
});

async function mountsMayBeMade(): Promise<boolean> {
  const { failed } = await execa("unshare", ["--mount", "--map-root-user", "true"], {
    reject: false,
  });
  return !failed;
}

/** The command line in a mount namespace of its own, in which `folder` is read-only. */
async function withReadOnly(folder: string, home: string, words: readonly string[]) {
  const script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"';
  const inside = ["sh", "-c", script, "sh", folder, ...CLI, ...words];
  return await execa("unshare", ["--mount", "--map-root-user", ...inside], options(home));
}

Deno.test("a read-only home or store is one sentence, and what reads goes on", () =>
  inDirectory(async (home) => {
    if (!await mountsMayBeMade()) {
      console.log("skipped: this machine lets nobody mount a folder read-only (unshare --mount)");
      return;
    }
    const store = join(home, "store");
    {
      await using written = await openStore(store, { write: true });
      await written.record(numbered(1));
      await written.flush();
    }
    await mkdir(join(home, "artifacts"));
    const cases: [folder: string, words: string[], code: number, said: RegExp][] = [
      [
        home,
        [...RUN, "tiny"],
        2,
        /^pare: Cannot use .* for PARE_HOME: it may not be written; set PARE_HOME/m,
      ],
      [
        store,
        [...RUN, "tiny"],
        2,
        /^pare: Cannot use .*store for the store: it may not be written/m,
      ],
      [store, ["resume"], 2, /^pare: Cannot use .*store for the store: it may not be written/m],
      [store, ["store", "rebuild"], 2, /^pare: .*Read-only file system.*PARE_HOME or --store$/m],
      [home, ["gc", "--max-disk", "1GB"], 2, /^pare: .*Read-only file system.*--store$/m],
      [home, ["status"], 0, /^$/],
    ];
    await Promise.all(cases.map(async ([folder, words, code, said]) => {
      const run = await withReadOnly(folder, home, words);
      const shown = `${words.join(" ")}\n${run.stdout}\n${run.stderr}`;
      assert.equal(run.exitCode, code, shown);
      assert.match(run.stderr, said, shown);
      assert.doesNotMatch(run.stderr, /^\s+at /m, shown);
    }));
  }));

Deno.test("what the system says of a file that it refuses is known by code and by words", () => {
  const kinds = (...told: unknown[]) => told.map((one) => storageFault(one)?.kind ?? null);
  const codes = ["EROFS", "EACCES", "EPERM", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENOENT"];
  assert.deepEqual(
    kinds({ code: "UNKNOWN", errno: -122 }, { code: "UNKNOWN", errno: -131 }),
    ["no_room", null],
  );
  assert.deepEqual(
    kinds(...codes.map((code) => ({ code }))),
    ["unwritable", "unwritable", "unwritable", "no_room", "limit", "broken", "handles", null],
  );
  const words = [
    ...["Read-only file system (os error 30): open '/x'", "Permission denied (os error 13)"],
    ...["Input/output error (os error 5): rename '/a' -> '/b'", "File too large (os error 27)"],
    ...["EIO: i/o error, readdir '/x'", "ENOSPC: no space left on device, readdir '/x'"],
    ...["os error 131", "os error 280", ""],
  ];
  assert.deepEqual(
    kinds(...words.map((text) => new Error(text)), null, "EIO"),
    [
      "unwritable",
      "unwritable",
      "broken",
      "limit",
      "broken",
      "no_room",
      null,
      null,
      null,
      null,
      null,
    ],
  );
});

/** Words of a program in which each call of a kind fails so; null: nothing can make one fail here. */
function failing(name: string, does: string, words: readonly string[]): string[] | null {
  const lacks = lacksStrace();
  if (lacks === null) {
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", `trace=${name}`].concat(
      ["-e", `inject=${name}:${does}`],
      words,
    );
  }
  console.log(`skipped: ${lacks}`);
  return null;
}

Deno.test("a disk that fails amid a rename is one sentence, and no size limit is told as a full disk", () =>
  inDirectory(async (directory) => {
    const store = join(directory, "store");
    {
      await using written = await openStore(store, { write: true });
      await written.record(numbered(1));
      await written.flush();
    }
    const words = ["store", "rebuild", "--store", store];
    const traced = failing("rename,renameat2", "error=EIO", [...CLI, ...words]);
    if (traced !== null) {
      const run = await execa(traced[0]!, traced.slice(1), options(join(directory, "home")));
      assert.equal(run.exitCode, 2, run.stderr);
      assert.match(run.stderr, /^pare: Cannot .* as the disk failed \(.*os error 5.*$/m);
      assert.doesNotMatch(run.stderr, /^\s+at /m, run.stderr);
    }
    const { message } = storageError(
      new Error("File too large (os error 27)"),
      "append to x",
    ) as Error;
    assert.match(message, /^Cannot append to x as no file may be so large here .*ulimit -f/);
  }));

Deno.test("a refusal leaves no store behind, and none that was there goes", () =>
  inDirectory(async (directory) => {
    const home = join(directory, "home");
    const plain = async (words: string[], where: string) => {
      const run = await execa(CLI[0]!, [...CLI.slice(1), ...words], options(where));
      assert.equal(run.exitCode, 2, `${words.join(" ")}\n${run.stderr}`);
    };
    await plain([...RUN, "/nowhere.jsonl"], home);
    assert(!existsSync(home), "PARE_HOME was made for nothing");
    const store = join(directory, "elsewhere");
    await plain([...RUN, "/nowhere.jsonl", "--store", store], home);
    assert(!existsSync(store) && !existsSync(home));
    await mkdir(store);
    await writeFile(join(store, "mine.txt"), "");
    await plain([...RUN, "/nowhere.jsonl", "--store", store], home);
    assert((await readdir(store)).includes("mine.txt"));
  }));

Deno.test("a new store that holds anything stays", () =>
  inDirectory(async (directory) => {
    const home = findHome({ PARE_HOME: join(directory, "home") });
    const made = async (spoil: () => Promise<unknown>) => {
      const folders = newFolders(home);
      await (await openStore(home.store, { write: true })).close();
      assert.deepEqual((await readdir(home.store)).filter((name) => /rescued/.test(name)), []);
      await spoil();
      folders.removeUnused();
      return existsSync(home.store);
    };
    assert.equal(await made(() => Promise.resolve()), false);
    assert.equal(existsSync(home.root), false);
    assert.equal(await made(() => writeFile(join(home.store, "journal.jsonl"), "x\n")), true);
    await Deno.remove(home.root, { recursive: true });
    const logs = join(home.store, "runs", "one", "logs");
    const log = (name: string) => async () => {
      await mkdir(logs, { recursive: true });
      await writeFile(join(logs, name), "x");
    };
    assert.equal(await made(log("setup-prepare_data.log")), false, "the worker of a set-up died");
    assert.equal(await made(log("t00-evaluate.log")), true);
    await Deno.remove(home.root, { recursive: true });
    let held: Store | null = null;
    const taken = await made(async () => {
      held = await openStore(home.store, { write: true });
      await held.take("one");
    });
    assert.equal(taken, true, "another has begun to write there");
    await (held as Store | null)!.close();
  }));
