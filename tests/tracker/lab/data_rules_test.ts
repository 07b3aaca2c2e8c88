import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { inspectDataset } from "../../../tracker/lab/data/inspect_dataset.ts";
import { parseJson } from "../../../tracker/lab/data/parse_json.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { runPare } from "../../fixtures/programs.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const GOOD = '{"prompt": "a", "answer": "b"}';
const row = (rest: string) => `{"prompt": "a", "answer": "c", "n": ${rest}}`;
/** Rows too large to be written out, as in tests/python-backends/test_json_rows.py. */
const MADE: Record<string, string> = {
  DIGITS: row("9".repeat(6000)),
  DEEP: row("[".repeat(20_000) + "]".repeat(20_000)),
  NEST: row("[".repeat(63) + "]".repeat(63)),
  LONG: `{"prompt": "${"x ".repeat(25_000_000)}", "answer": "c"}`,
};

async function refusalOf(path: string): Promise<string | null> {
  return await inspectDataset(path).then(() => null, (error: Error) => {
    assert.equal(error.name, "UsageError");
    return error.message;
  });
}

Deno.test("a row is taken or refused as on the Python side", async () => {
  const rules: [string, string, string | null][] = JSON.parse(
    await readFile(join(ROOT, "tests", "python-backends", "json_rules.json"), "utf8"),
  );
  const path = join(temporaryFolder("rules"), "rows.jsonl");
  for (const [name, line, said] of rules) {
    await writeFile(path, `${GOOD}\n${MADE[line] ?? line}\n`);
    const started = performance.now();
    const refusal = await refusalOf(path) ?? "";
    assert(performance.now() - started < 10_000, name);
    if (said === null) assert.equal(refusal, "", name);
    else {
      assert(refusal.startsWith(`Cannot read line 2 of ${path} as `), `${name}: ${refusal}`);
      assert(refusal.includes(said) && refusal.length < 400 + path.length, `${name}: ${refusal}`);
    }
  }
});

Deno.test("a byte order mark, UTF-16, an empty file and a bomb are each taken as what they are", async () => {
  const folder = temporaryFolder("files");
  const mark = new Uint8Array([0xef, 0xbb, 0xbf]);
  const cases: [name: string, bytes: Uint8Array, said: RegExp | null][] = [
    ["mark.jsonl", new Uint8Array([...mark, ...new TextEncoder().encode(GOOD)]), null],
    ["mark.jsonl.gz", gzipSync(new Uint8Array([...mark, ...new TextEncoder().encode(GOOD)])), null],
    ["only.jsonl", mark, /it holds no rows/],
    ["empty.jsonl", new Uint8Array(), /it holds no rows/],
    ["wide.jsonl", new Uint8Array([0xff, 0xfe, 0x7b, 0x00]), /it is not UTF-8/],
    ["bomb.jsonl.gz", gzipSync(new Uint8Array(501_000_000)), /it holds more than 500 MB/],
  ];
  for (const [name, bytes, said] of cases) {
    await writeFile(join(folder, name), bytes);
    const refusal = await refusalOf(join(folder, name));
    if (said === null) assert.equal(refusal, null, name);
    else assert.match(refusal ?? "taken", said, name);
  }
});

Deno.test("a study document is read by the same rules, and its mark is none of it", async () => {
  const folder = temporaryFolder("document");
  const run = async (text: string, store = join(folder, "store")) => {
    await writeFile(join(folder, "study.json"), text);
    const words = ["run", join(folder, "study.json"), "--yes", "--store", store];
    const result = await runPare(words, { PARE_HOME: folder });
    assert.equal(result.exitCode, 2, result.stderr);
    assert.doesNotMatch(result.stderr, /^\s+at /m);
    assert(!existsSync(store), "a refusal leaves no store");
    return result.stderr;
  };
  assert.match(
    await run('\ufeff{"model_name": "tiny", "dataset": "/nowhere.jsonl"}'),
    /no such file/,
  );
  assert.match(
    await run('{"model_name": "tiny", "dataset": "tiny", "budget_seconds": 1e999}'),
    /it holds 1e999, which is too large for a number/,
  );
  assert.match(await run('{"model_name": "\\ud800"}'), /half a character \(\\ud800/);
  assert.throws(() => parseJson("[".repeat(100) + "]".repeat(100)), /nested more than 64 deep/);
});
