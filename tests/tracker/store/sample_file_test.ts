import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import {
  readNewestSamples,
  readOrSetAside,
  readSamples,
} from "../../../tracker/store/rows/sample_file.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, trialId } from "../../fixtures/stores/records.ts";

/** Written by `write_samples` of the Python half, from the rows in `ROWS`. */
const PARQUET = new URL("../../fixtures/stores/samples.parquet", import.meta.url);

const ROWS = [
  {
    task: "tiny_words",
    sample_id: "0",
    sample_hash: "aa",
    prompt_hash: "p0",
    score: 1,
    answer: "Überraschung \u2028 \n",
    gold: "NaN",
    log_likelihood: -0.25,
    seconds: 0.125,
  },
  {
    task: "tiny_words",
    sample_id: "1",
    sample_hash: "bb",
    prompt_hash: "p1",
    score: NaN,
    answer: null,
    gold: null,
    log_likelihood: -Infinity,
    seconds: null,
  },
  {
    task: "tiny_text",
    sample_id: "2",
    sample_hash: "cc",
    prompt_hash: "p2",
    score: -0,
    answer: "",
    gold: "x".repeat(300),
    log_likelihood: null,
    seconds: 5e-324,
  },
];

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function written(path: string, sha256: string, fidelity: "proxy" | "full" = "full"): JournalRecord {
  const own = { at: AT, study_id: STUDY, trial_id: trialId(1), fidelity };
  return { type: "samples_written", ...own, path, rows: ROWS.length, sha256 };
}

async function problemOf(store: Store, record: JournalRecord): Promise<string> {
  await store.record(record);
  await store.flush();
  const { rows } = await store.query("SELECT problem FROM problems ORDER BY position DESC LIMIT 1");
  return String(rows[0]?.["problem"]);
}

Deno.test("A worker's Parquet file reaches the table with every number and text as it was", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const { relative, absolute } = store.samplesPath(STUDY, trialId(1), "full");
    assert.equal(relative, `runs/${STUDY}/samples/t01-full.parquet`);
    await Deno.copyFile(PARQUET, absolute);
    const sha256 = hashOf(await Deno.readFile(PARQUET));
    assert.deepEqual(await readSamples(absolute, sha256), ROWS);
    await store.record(written(relative, sha256));
    const columns = Object.keys(ROWS[0]!).join(", ");
    await store.flush();
    const { rows } = await store.query(`SELECT ${columns} FROM samples ORDER BY sample_id`);
    assert.deepEqual(rows, ROWS);
  }));

Deno.test("A sample file that is gone, changed, outside or no Parquet is a problem, not a crash", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const { relative, absolute } = store.samplesPath(STUDY, trialId(1), "full");
    assert.match(await problemOf(store, written(relative, "0")), /t01-full.parquet as it is gone/);
    const bytes = await Deno.readFile(PARQUET);
    await Deno.writeFile(absolute, bytes);
    assert.match(await problemOf(store, written(relative, "0")), /it was changed: its sha256 must/);
    await Deno.writeFile(absolute, bytes.subarray(0, bytes.length - 9));
    const cut = hashOf(bytes.subarray(0, bytes.length - 9));
    assert.match(
      await problemOf(store, written(relative, cut)),
      /Cannot read .*t01-full.parquet: /,
    );
    assert.match(await problemOf(store, written("../x.parquet", "0")), /outside the store/);
    const { rows } = await store.query("SELECT count(*) AS n FROM samples");
    assert.deepEqual(rows, [{ n: 0 }]);
  }));

Deno.test("A sample file that was changed is kept aside, one outside the store is left where it is", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    await Deno.mkdir(root);
    for (const path of [join(root, "x.parquet"), join(folder, "y.parquet")]) {
      await Deno.copyFile(PARQUET, path);
    }
    const sha256 = hashOf(await Deno.readFile(PARQUET));
    const read = (path: string, hash = "0") => readOrSetAside(root, { path, sha256: hash });
    assert.deepEqual(await read("x.parquet", sha256), { samples: ROWS });
    assert.deepEqual(await read("x.parquet"), {
      lost: "x.parquet was changed and is kept as x.parquet.damaged-1",
    });
    assert.equal(hashOf(await Deno.readFile(join(root, "x.parquet.damaged-1"))), sha256);
    assert.deepEqual(await read("x.parquet"), { lost: "x.parquet is gone" });
    await assert.rejects(readNewestSamples(root, { path: "x.parquet", sha256 }, []), {
      name: "UsageError",
      message:
        "Cannot read the answers in x.parquet as it is gone: pare resume asks for them again",
    });
    assert.deepEqual(await read("../y.parquet"), { lost: "../y.parquet lies outside the store" });
    assert.ok((await Deno.stat(join(folder, "y.parquet"))).isFile);
  }));

Deno.test("Lines of JSON, as older versions wrote samples, are read for ever", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const path = `samples/${STUDY}/t01-full.jsonl`;
    const lines = [
      { ...ROWS[0], seconds: undefined },
      { ...ROWS[1], score: "NaN", log_likelihood: "-Infinity", seconds: undefined },
    ];
    const text = lines.map((line) => JSON.stringify(line)).join("\n") + "\n";
    await Deno.mkdir(dirname(join(root, path)), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
    await store.record(written(path, hashOf(new TextEncoder().encode(text))));
    await store.flush();
    const { rows } = await store.query("SELECT score, log_likelihood, seconds FROM samples");
    assert.deepEqual(rows, [
      { score: 1, log_likelihood: -0.25, seconds: null },
      { score: NaN, log_likelihood: -Infinity, seconds: null },
    ]);
    const broken = '{"task": "t"}\n';
    await Deno.writeTextFile(join(root, path), broken);
    const record = written(path, hashOf(new TextEncoder().encode(broken)));
    assert.match(await problemOf(store, record), /row 1 is no sample: sample_id/);
  }));
