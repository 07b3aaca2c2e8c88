import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { publishStudy } from "../../../tracker/exchange/publish/publish_study.ts";
import {
  cleanPage,
  cleanText,
  cleanValue,
  pathsIn,
  privateWords,
} from "../../../tracker/show/report_sql/withheld.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { readRecorded } from "../../../tracker/commands/exchange/reproduce.ts";
import { sha256File } from "../../../tracker/ground/storage/file_hash.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords } from "../../fixtures/stores/records.ts";

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
  // A name is private where it stands alone, not as a part of a word.
  assert.equal(clean("metadata of adam, for ada."), "metadata of adam, for (user).");
  const common = privateWords({
    ...{ home: "/data/pare-home", checkout: "/srv/checkout", host: "model" },
    variables: { USER: "data" },
  });
  assert.equal(cleanText("the model and its data", common), "the model and its data");
  for (const kept of ["J/1k tokens", "org/model", "3/4/5", "https://hub.org/a/b", "</b></i>"]) {
    assert.equal(clean(kept), kept);
  }
  assert.deepEqual(cleanValue({ a: ["/x/y/z", 1, null] }, hidden), { a: ["…/z", 1, null] });
  assert.deepEqual(pathsIn({ a: ["at /x/y/z", 1] }), ["/x/y/z"]);
  assert.equal(
    cleanPage("s.replace(/a/g, x) // /x/y/z", hidden, ["/x/y/z"]),
    "s.replace(/a/g, x) // …/z",
  );
  const program = '<script type="module">const ada = "/x/y/z"</script>';
  const told = '<script type="application/json">{"at":"/x/y/z"}</script><p>ada</p>';
  assert.equal(
    cleanPage(`${told}${program}`, hidden, ["/x/y/z"]),
    `<script type="application/json">{"at":"…/z"}</script><p>(user)</p>${program}`,
  );
});

async function texts(folder: string, sql: string): Promise<string> {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const found = await connection.runAndReadAll(sql.replaceAll("DIR", folder));
  connection.closeSync();
  return JSON.stringify(found.getRowsJson());
}

/** Every file that the crate lists is there, with the hash that it names. */
async function checkCrate(folder: string): Promise<void> {
  const crate = JSON.parse(await Deno.readTextFile(join(folder, "ro-crate-metadata.json")));
  const listed = (crate["@graph"] as Record<string, string>[])
    .filter((one) => one["@type"] === "File");
  const names = listed.map((one) => one["@id"]);
  for (const name of ["study.json", "recorded.json", "reproduce.sh", "report.html"]) {
    assert.ok(names.includes(name), name);
  }
  for (const one of listed) {
    assert.equal(one["sha256"], await sha256File(join(folder, one["@id"]!)), one["@id"]);
  }
}

/** A browser runs a program whose hash the page's policy names, and no other. */
async function checkPrograms(page: string): Promise<void> {
  const text = await Deno.readTextFile(page);
  const programs = [...text.matchAll(/<script type="module">([\s\S]*?)<\/script>/g)];
  assert.ok(programs.length > 0);
  for (const [, program] of programs) {
    const hash = createHash("sha256").update(program!).digest("base64");
    assert.ok(text.includes(`sha256-${hash}`), program!.slice(0, 80));
  }
}

Deno.test("a published folder is whole, says what it leaves out, and overwrites nothing of others", () =>
  inDirectory(async (root) => {
    const registry = await discoverPlugins();
    await using store = await openStore(join(root, "store"), { write: true });
    for (const record of studyRecords()) {
      if (record.type !== "samples_written") await store.record(record);
    }
    const note = { type: "note", at: AT, study_id: STUDY, trial_id: null } as const;
    const said = "ada has metadata in /data/ada/pare/x, key hf_abcdefghijklmnopqrst";
    await store.record({ ...note, note_id: "n2", text: said });
    const directory = join(root, "out");
    const one = { store, study_id: STUDY, registry, hidden, directory, force: false };
    const { left_out } = await publishStudy(one);
    assert.match(left_out.join("\n"), /table logs/);
    for (const file of ["report.html", "study.json", "reproduce.sh", "SHA256SUMS", "LEFT_OUT.md"]) {
      assert.ok(existsSync(join(directory, file)), file);
    }
    assert.equal(readRecorded(directory).study_id, STUDY);
    await checkCrate(directory);
    await checkPrograms(join(directory, "report.html"));
    const notes = await texts(directory, "SELECT text FROM 'DIR/data/notes.parquet'");
    assert.match(notes, /\(user\) has metadata in PARE_HOME\/x, key \(secret\)/);

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

/** Every text of a folder: of its files, of Parquet's columns and of the SQL box's database. */
async function everyText(folder: string): Promise<string> {
  const found: string[] = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (!isFile) found.push(await everyText(path));
    else if (name.endsWith(".parquet")) found.push(await texts(path, "SELECT * FROM 'DIR'"));
    else if (!name.endsWith(".png")) found.push(await Deno.readTextFile(path));
  }
  return found.join("\n");
}

Deno.test("nothing private stands anywhere in a published folder, wherever it was recorded", () =>
  inDirectory(async (root) => {
    const secret = "hf_abcdefghijklmnopqrst";
    const said = `Cannot read /home/ada/secret-place/x.bin for ada at lovelace with ${secret}`;
    await using store = await openStore(join(root, "store"), { write: true });
    const records = JSON.stringify(studyRecords().filter(({ type }) => type !== "samples_written"))
      .replaceAll(
        "pare run --model tiny",
        `pare run --model /home/ada/secret-place/tiny ${secret}`,
      );
    for (const record of JSON.parse(records)) {
      if (record.type === "trial_closed" && record.trial.number === 2) {
        record.trial.failure = { kind: "crash", message: said, hint: said, phase: "apply" };
        record.trial.state = "failed";
      }
      await store.record(record);
    }
    const note = { type: "note", at: AT, study_id: STUDY, trial_id: null, note_id: "n3" } as const;
    await store.record({ ...note, text: said });
    const directory = join(root, "out");
    const registry = await discoverPlugins();
    await publishStudy({ store, study_id: STUDY, registry, hidden, directory, force: false });
    const text = await everyText(directory);
    assert.match(text, /Cannot read …\/x\.bin for \(user\) at \(host\) with \(secret\)/);
    for (const word of [secret, "secret-place", "/home/ada", "lovelace", root]) {
      const at = text.indexOf(word);
      assert.equal(at, -1, text.slice(Math.max(0, at - 200), at + 100));
    }
    assert.doesNotMatch(text, /\bada\b/);
  }));

Deno.test("a benchmark passes its texts on only where it names a licence", async () => {
  const { tasks } = await discoverPlugins();
  const named = (name: string) => tasks.find((task) => task.name === name)?.licence;
  assert.equal(named("gsm8k"), "MIT");
  assert.equal(named("custom_prompt_answer"), undefined);
  assert.equal(named("triviaqa"), undefined);
});
