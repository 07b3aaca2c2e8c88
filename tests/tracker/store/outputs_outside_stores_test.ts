import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { main } from "../../../tracker/cli.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";

/** Names and bytes of a store's files. */
function filesOf(root: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(root).filter((name) => statSync(join(root, name)).isFile()).map((name) => [
      name,
      readFileSync(join(root, name)).toString("base64"),
    ]),
  );
}

async function pare(...words: string[]): Promise<{ code: number; said: string }> {
  const error = console.error;
  let said = "";
  console.error = (...parts: unknown[]) => said += parts.join(" ");
  try {
    return { code: await main(words), said };
  } finally {
    console.error = error;
  }
}

Deno.test("no output lands in a store, by whichever command and name", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    const study = studyRecords()[0]!;
    {
      await using store = await openStore(root, { write: true });
      await Promise.all(studyRecords().map((record) => store.record(record)));
      await assert.rejects(
        store.exportParquet("SELECT 1 AS a", join(root, "rows.parquet")),
        /Cannot write .*rows\.parquet as it lies in the store/,
      );
    }
    symlinkSync(root, join(folder, "link"));
    const before = filesOf(root);
    const id = "study_id" in study ? study.study_id : "";
    const outputs = [
      ...["runs/x.jsonl", "pare.duckdb", "lock", "store.json", "rows.csv", "samples/rows.csv"]
        .map((name) => ["sql", "SELECT 1 AS a", "--output", join(root, name)]),
      ["sql", "SELECT 1 AS a", "--output", join(folder, "link", "journal.jsonl")],
      ["sql", "SELECT 1 AS a", "--format", "parquet", "--output", join(root, "pare.duckdb")],
      ["export", "--parquet", join(root, "out")],
      ["report", id, "--output", root],
      ["publish", id, join(root, "published")],
      ["convert", `${id}/t01`, join(root, "converted"), "--to", "gguf"],
    ];
    for (const words of outputs) {
      const { code, said } = await pare(...words, "--store", root);
      assert.equal(code, 2, words.join(" "));
      assert.match(said, /as it lies in the store .*: give a place elsewhere/, words.join(" "));
    }
    assert.deepEqual(filesOf(root), before);
    const { code } = await pare(
      ...["sql", "SELECT 1 AS a", "--store", root, "--output", join(folder, "a.csv")],
    );
    assert.equal(code, 0);
  }));
