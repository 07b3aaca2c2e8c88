import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { publishStudy } from "../../tracker/publish/publish_study.ts";
import {
  cleanPage,
  cleanText,
  cleanValue,
  pathsIn,
  privateWords,
} from "../../tracker/publish/withheld.ts";
import { discoverPlugins } from "../../tracker/discover.ts";
import { readRecorded } from "../../tracker/reproduce/reproduce_command.ts";
import { openStore } from "../../tracker/store/store.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords } from "../fixtures/stores/records.ts";

const hidden = privateWords({
  ...{ home: "/data/ada/pare", checkout: "/home/ada/pare", host: "lovelace" },
  variables: { HOME: "/home/ada", USER: "ada", HF_TOKEN: "very secret words", LANG: "C" },
});

Deno.test("what is private is taken out of texts, and nothing else", () => {
  const clean = (text: string) => cleanText(text, hidden);
  assert.equal(clean("weights in /data/ada/pare/artifacts/1"), "weights in PARE_HOME/artifacts/1");
  assert.equal(clean("read /mnt/models/tiny/model.gguf at"), "read …/model.gguf at");
  assert.equal(clean("--model=/mnt/models/tiny"), "--model=…/tiny");
  assert.equal(clean("by ada on lovelace"), "by (user) on (host)");
  assert.equal(clean("key hf_abcdefghijklmnopqrst"), "key (secret)");
  assert.equal(clean("very secret words"), "(secret)");
  assert.equal(clean("https://ada:pw@hub.org/a/b/c"), "https://hub.org/a/b/c");
  for (const kept of ["J/1k tokens", "org/model", "3/4/5", "https://hub.org/a/b", "</b></i>"]) {
    assert.equal(clean(kept), kept);
  }
  assert.deepEqual(cleanValue({ a: ["/x/y/z", 1, null] }, hidden), { a: ["…/z", 1, null] });
  assert.deepEqual(pathsIn({ a: ["at /x/y/z", 1] }), ["/x/y/z"]);
  assert.equal(
    cleanPage("s.replace(/a/g, x) // /x/y/z", hidden, ["/x/y/z"]),
    "s.replace(/a/g, x) // …/z",
  );
});

async function texts(folder: string, sql: string): Promise<string> {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const found = await connection.runAndReadAll(sql.replaceAll("DIR", folder));
  connection.closeSync();
  return JSON.stringify(found.getRowsJson());
}

Deno.test("a published folder is whole, says what it leaves out, and overwrites nothing of others", () =>
  inDirectory(async (root) => {
    const registry = await discoverPlugins();
    await using store = await openStore(join(root, "store"), { write: true });
    for (const record of studyRecords()) {
      if (record.type !== "samples_written") await store.record(record);
    }
    const note = { type: "note", at: AT, study_id: STUDY, trial_id: null } as const;
    const said = "ada has it in /data/ada/pare/x, key hf_abcdefghijklmnopqrst";
    await store.record({ ...note, note_id: "n2", text: said });
    const directory = join(root, "out");
    const one = { store, study_id: STUDY, registry, hidden, directory, force: false };
    const { left_out } = await publishStudy(one);
    assert.match(left_out.join("\n"), /table logs/);
    for (const file of ["report.html", "study.json", "reproduce.sh", "SHA256SUMS", "LEFT_OUT.md"]) {
      assert.ok(existsSync(join(directory, file)), file);
    }
    assert.equal((await readRecorded(directory)).study_id, STUDY);
    const notes = await texts(directory, "SELECT text FROM 'DIR/data/notes.parquet'");
    assert.match(notes, /\(user\) has it in PARE_HOME\/x, key \(secret\)/);

    await Deno.writeTextFile(join(directory, "own.txt"), "mine");
    await assert.rejects(publishStudy(one), /not empty/);
    await publishStudy({ ...one, force: true });
    assert.equal(await Deno.readTextFile(join(directory, "own.txt")), "mine");
    const other = join(root, "other");
    await Deno.mkdir(other);
    await Deno.writeTextFile(join(other, "own.txt"), "mine");
    const into = { ...one, directory: other, force: true };
    await assert.rejects(publishStudy(into), /nothing was published there/);
  }));

Deno.test("a benchmark passes its texts on only where it names a licence", async () => {
  const { tasks } = await discoverPlugins();
  const named = (name: string) => tasks.find((task) => task.name === name)?.licence;
  assert.equal(named("gsm8k"), "MIT");
  assert.equal(named("custom_prompt_answer"), undefined);
  assert.equal(named("triviaqa"), undefined);
});
