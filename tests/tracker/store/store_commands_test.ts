import assert from "node:assert/strict";
import { journalOf } from "../../fixtures/stores/journals.ts";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { artifactId } from "../../../tracker/artifacts/artifact_files.ts";
import { checkStore } from "../../../tracker/artifacts/check_store.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { pare } from "../../fixtures/stores/pare.ts";
import { startScript } from "../../fixtures/programs.ts";
import { databaseHolder, inDirectory } from "../../fixtures/stores/processes.ts";
import { artifact, AT, STUDY, studyRecords, trialId } from "../../fixtures/stores/records.ts";

const LOG = "a worker said this\n";

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const FILES = [{ path: "model.safetensors", bytes: 7, sha256: sha256("weights") }];
const ID = artifactId(FILES);

/** Where the artifact of a home lies. */
const placeIn = (home: string): string => join(home, "artifacts", ID);

/**
 * Records a study whose artifact, samples and log lie in a home, the artifact in `folder` where that is
 * a user's own; gives the store open.
 */
async function wholeStudy(home: string, folder = placeIn(home)): Promise<Store> {
  const root = join(home, "store");
  const store = await openStore(root, { write: true });
  const own = { at: AT, study_id: STUDY, trial_id: trialId(1) };
  for (const record of studyRecords()) {
    if (record.type === "log_written" || record.type === "artifact_written") continue;
    await store.record(record);
  }
  await Deno.mkdir(folder, { recursive: true });
  await Deno.mkdir(placeIn(home), { recursive: true });
  await Deno.writeTextFile(join(folder, "model.safetensors"), "weights");
  const kept = {
    ...artifact(ID, null),
    location: folder === placeIn(home) ? "." : folder,
    files: FILES,
  };
  await Deno.writeTextFile(join(placeIn(home), "manifest.json"), JSON.stringify(kept));
  await store.record({
    type: "artifact_written",
    ...own,
    artifact: { ...kept, location: folder },
    cached: false,
  });
  const log = store.logPath(STUDY, trialId(1), "evaluate");
  await Deno.writeTextFile(log, LOG);
  await store.record({
    type: "log_written",
    ...own,
    call: "evaluate",
    path: log.slice(root.length + 1),
    bytes: LOG.length,
    sha256: sha256(LOG),
  });
  const sample = {
    task: "t",
    sample_id: "1",
    sample_hash: "h",
    prompt_hash: "p",
    score: "NaN",
    answer: null,
    gold: null,
    log_likelihood: null,
  };
  const text = `${JSON.stringify(sample)}\n`;
  const samples = `samples/${STUDY}/t01-full.jsonl`;
  await Deno.mkdir(join(root, "samples", STUDY), { recursive: true });
  await Deno.writeTextFile(join(root, samples), text);
  await store.record({
    type: "samples_written",
    ...own,
    fidelity: "full",
    path: samples,
    rows: 1,
    sha256: sha256(text),
  });
  return store;
}

async function fingerprint(root: string): Promise<Record<string, string>> {
  const names = [
    ...[`runs/${STUDY}/journal.jsonl`, "pare.duckdb", "store.json"],
    `runs/${STUDY}/logs/t01-evaluate.log`,
  ];
  const entries = await Promise.all(names.map(async (name) => {
    const bytes = await Deno.readFile(join(root, name));
    return [name, createHash("sha256").update(bytes).digest("hex")] as const;
  }));
  return Object.fromEntries(entries);
}

Deno.test("pare store check finds nothing wrong with a whole store and changes nothing", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    await (await wholeStudy(folder)).close();
    const before = await fingerprint(root);
    const { code, stdout } = await pare("store", "check", "--store", root);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /samples and logs: 2 files/);
    assert.match(stdout, /artifacts: 1 on this disk/);
    assert.match(stdout, /nothing is wrong/);
    assert.deepEqual(await fingerprint(root), before);
  }));

Deno.test("a home that was moved with its store and artifacts checks the same, artifacts read there", () =>
  inDirectory(async (folder) => {
    const [home, moved] = [join(folder, "home"), join(folder, "moved")];
    await (await wholeStudy(home)).close();
    const check = (root: string) => checkStore(join(root, "store"));
    const before = await check(home);
    assert.deepEqual(before.wrong, []);
    await Deno.rename(home, moved);
    assert.deepEqual(await check(moved), before);
    await Deno.writeTextFile(join(placeIn(moved), "model.safetensors"), "other weights");
    assert.match((await check(moved)).wrong.join(), /model\.safetensors was changed/);
  }));

Deno.test("an artifact that lay in a cache which is gone is no damage: it can be made again", () =>
  inDirectory(async (folder) => {
    const cache = join(folder, "cache", "models");
    await (await wholeStudy(folder, cache)).close();
    assert.match(
      (await checkStore(join(folder, "store"))).said.join(),
      /artifacts: 1 on this disk/,
    );
    await Deno.rename(cache, join(folder, "away"));
    const { said, wrong } = await checkStore(join(folder, "store"));
    assert.deepEqual(wrong, []);
    assert.match(
      said.join("\n"),
      /artifacts: 0 on this disk; 1 were removed and can be made again/,
    );
  }));

type Damage = (root: string, folder: string) => Promise<void>;

const DAMAGES: Record<string, [Damage, ...RegExp[]]> = {
  "a flipped digit in the journal": [
    async (root) => {
      const path = journalOf(root);
      const text = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, text.replace('"seconds":12.5', '"seconds":99.5'));
    },
    /runs\/demo-1\/journal\.jsonl: the record at byte \d+, of demo-1\/t00, its checksum does not match/,
  ],
  "a row that is not the journal's": [
    async (root) => {
      const { DuckDBInstance } = await import("@duckdb/node-api");
      const instance = await DuckDBInstance.create(join(root, "pare.duckdb"));
      const connection = await instance.connect();
      await connection.run("UPDATE measurements SET value = value + 1 WHERE metric = 'accuracy'");
      connection.closeSync();
      instance.closeSync();
    },
    /not what its journal says in measurements: \d+ rows, not the same ones; `pare store rebuild`/,
  ],
  "flipped bytes in the database": [
    async (root) => {
      const path = join(root, "pare.duckdb");
      const bytes = await Deno.readFile(path);
      for (let at = 4096; at < bytes.length; at += 997) bytes[at] = bytes[at]! ^ 0xff;
      await Deno.writeFile(path, bytes);
    },
    /^the index (is damaged|cannot be read)/,
  ],
  "a changed log, changed weights and a samples file that is gone": [
    async (root, folder) => {
      await Deno.writeTextFile(
        join(root, "runs", STUDY, "logs", "t01-evaluate.log"),
        "something else",
      );
      await Deno.writeTextFile(join(placeIn(folder), "model.safetensors"), "other weights");
      await Deno.remove(join(root, "samples", STUDY, "t01-full.jsonl"));
    },
    /t01-evaluate\.log \(log of demo-1\/t01\) was changed: sha256 must be/,
    /artifact [0-9a-f]{16}: .*model\.safetensors was changed/,
    /t01-full\.jsonl \(demo-1\/t01\) is gone/,
  ],
};
for (const [what, [damage, ...said]] of Object.entries(DAMAGES)) {
  Deno.test(`checkStore() says so after ${what}, and changes nothing`, () =>
    inDirectory(async (folder) => {
      const root = join(folder, "store");
      await (await wholeStudy(folder)).close();
      await damage(root, folder);
      const before = await fingerprint(root);
      const { wrong } = await checkStore(root);
      for (const one of said) assert.ok(wrong.some((line) => one.test(line)), wrong.join("\n"));
      assert.deepEqual(await fingerprint(root), before);
    }));
}

Deno.test("pare store rebuild makes an index that pare store check finds equal to the journal", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    await (await wholeStudy(folder)).close();
    await DAMAGES["a row that is not the journal's"]![0](root, folder);
    const { code, stdout } = await pare("store", "check", "--store", root);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /WRONG: the index is not what its journal says in measurements/);
    const rebuilt = await pare("store", "rebuild", "--store", root);
    assert.match(rebuilt.stdout, /1 studies, 4 trials/);
    assert.deepEqual((await checkStore(root)).wrong, []);
  }));

Deno.test("pare note is kept with a study and a trial, and names what is near an unknown one", () =>
  inDirectory(async (root) => {
    const store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    await store.close();
    assert.match((await pare("note", STUDY, "the first one", "--store", root)).stdout, /^noted/);
    const short = await pare("note", "t01", 'looks "good"\nso far', "--store", root);
    assert.match(short.stdout, /^noted for demo-1\/t01/, "of the newest study");
    const wrong = await pare("note", "demo-1/t09", "x", "--store", root);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /Did you mean "demo-1\/t0/);
    assert.equal((await pare("note", STUDY, " ", "--store", root)).code, 2);
    await using reader = await openStore(root, { write: false });
    const { rows } = await reader.query(
      "SELECT trial_id, text FROM notes WHERE text <> 'looked at by hand' ORDER BY position",
    );
    assert.deepEqual(rows, [
      { trial_id: null, text: "the first one" },
      { trial_id: trialId(1), text: 'looks "good"\nso far' },
    ]);
  }));

Deno.test("pare note reaches a study that another process writes, and is there once", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.take(STUDY); // it stays open: the note is appended beside it
    for (const record of studyRecords()) await store.record(record);
    await store.flush();
    const { stdout } = await pare("note", trialId(2), "while it runs", "--store", root);
    assert.equal(stdout, `noted for ${trialId(2)}`);
    await using reader = await openStore(root, { write: false });
    const asked = "SELECT text FROM notes WHERE text = 'while it runs'";
    assert.equal((await reader.query(asked)).rows.length, 1, "it is there at once");
    // The writer goes on behind it.
    await store.record({ type: "study_resumed", at: AT, study_id: STUDY });
    const last = (await store.journalOf(STUDY)).slice(-2).map(({ type }) => type);
    assert.deepEqual(last, ["note", "study_resumed"]);
    await store.close();
    assert.deepEqual((await checkStore(root)).wrong.filter((one) => /journal|index/.test(one)), []);
  }));

Deno.test("pare status names the process that holds the index, also one that only reads it", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    await using store = await openStore(root, { write: true });
    await store.take(STUDY);
    for (const record of studyRecords()) await store.record(record);
    await store.flush();
    const quiet = await pare("status", "--store", root);
    assert.match(quiet.stdout, /index +has everything that is recorded/);
    assert.match(quiet.stdout, new RegExp(`written now +${STUDY}, by process ${Deno.pid} `));
    assert.match(quiet.stdout, /index open in +no other process/);
    for (
      const [access, said] of [
        ["READ_WRITE", /cannot be read while process/],
        ["READ_ONLY", /index +has everything/],
      ] as const
    ) {
      const holder = await startScript(
        directory,
        databaseHolder(store.paths.database, access),
      );
      assert.equal(await holder.line(), "open");
      const { stdout } = await pare("status", "--store", root);
      assert.match(stdout, said);
      assert.match(stdout, new RegExp(`index open in +process ${holder.pid} `));
      await holder.kill();
    }
  }));

Deno.test("pare log shows a log that is as it was kept, and says where it is not", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    await (await wholeStudy(folder)).close();
    const whole = await pare("log", trialId(1), "--store", root);
    assert.deepEqual([whole.code, whole.stderr], [0, ""]);
    assert.equal(whole.stdout, `── evaluate\n${LOG.trimEnd()}`);
    await Deno.writeTextFile(
      join(root, "runs", STUDY, "logs", "t01-evaluate.log"),
      "something else",
    );
    const changed = await pare("log", trialId(1), "--store", root);
    assert.equal(changed.code, 1);
    assert.match(changed.stderr, /t01-evaluate\.log was changed since it was kept/);
    await Deno.remove(join(root, "runs", STUDY, "logs", "t01-evaluate.log"));
    const gone = await pare("log", trialId(1), "--store", root);
    assert.equal(gone.code, 2);
    assert.match(gone.stderr, /Cannot show the log of .*t01: runs\/.*-evaluate\.log is gone from /);
    const unknown = await pare("log", `${STUDY}/t1`, "--store", root);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /Unknown study or trial .* Did you mean /);
  }));

Deno.test("a study whose name begins with a dash is said to stand behind --, and is found there", () =>
  inDirectory(async (root) => {
    const id = "-tiny-20261125-103713";
    {
      await using store = await openStore(root, { write: true });
      for (const record of studyRecords(id)) await store.record(record);
    }
    const refused = await pare("show", id, "--store", root);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, new RegExp(`stands behind --: -- ${id}\\)`));
    const shown = await pare("show", "--store", root, "--", id);
    assert.equal(shown.code, 0, shown.stderr);
  }));
