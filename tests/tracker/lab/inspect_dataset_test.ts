import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { UsageError } from "../../../core/mod.ts";
import {
  inspectDataset,
  inspectLines,
  isDatasetFile,
} from "../../../tracker/lab/data/inspect_dataset.ts";

const TWO = '{"prompt": "1 + 1 =", "answer": "2"}\n\n{"prompt": "2 + 2 =", "answer": "4"}\n';

async function withFile(name: string, bytes: Uint8Array, use: (path: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeFile(`${folder}/${name}`, bytes);
    await use(`${folder}/${name}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("inspectDataset() reads format, rows and hash of a file", async () => {
  const bytes = new TextEncoder().encode(TWO);
  await withFile("own.jsonl", bytes, async (path) => {
    const facts = await inspectDataset(path);
    assert.deepEqual([facts.kind, facts.format, facts.rows], ["file", "prompt_answer", 2]);
    assert.equal(facts.dataset, path);
    assert.equal(facts.path, await Deno.realPath(path));
    assert.equal(facts.sha256, createHash("sha256").update(bytes).digest("hex"));
  });
});

Deno.test("inspectDataset() reads a gzip file and refuses a cut one", async () => {
  const bytes = gzipSync('{"text": "One."}\n{"text": ""}');
  await withFile("own.jsonl.gz", bytes, async (path) => {
    const facts = await inspectDataset(path);
    assert.deepEqual([facts.format, facts.rows], ["text", 2]);
  });
  await withFile("cut.jsonl.gz", bytes.subarray(0, 20), async (path) => {
    await assert.rejects(inspectDataset(path), /it is no whole gzip file/);
  });
});

Deno.test("inspectDataset() leaves a name a name", async () => {
  const facts = await inspectDataset("gsm8k");
  assert.deepEqual([facts.kind, facts.path, facts.rows], ["named", null, null]);
  assert.equal(isDatasetFile("gsm8k"), false);
  assert.equal(isDatasetFile("Own.JSONL"), true);
});

Deno.test("inspectDataset() says that a file is not there, or no file", async () => {
  await assert.rejects(
    inspectDataset("/nowhere/own.jsonl"),
    (error) => error instanceof UsageError && /there is no such file/.test(error.message),
  );
  const folder = await Deno.makeTempDir({ suffix: ".jsonl" });
  try {
    await assert.rejects(inspectDataset(folder), /it is no file/);
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("inspectDataset() refuses bytes that are no UTF-8", async () => {
  await withFile("own.jsonl", new Uint8Array([0x7b, 0xff, 0x7d]), async (path) => {
    await assert.rejects(inspectDataset(path), /it is not UTF-8/);
  });
});

const BROKEN: [string, RegExp][] = [
  ['{"text": "a"}\n{"text": ', /Cannot read line 2 of own\.jsonl as it is no JSON/],
  ['\n\n["a"]', /line 3 of own\.jsonl as it must be an object: it is \["a"\]/],
  ['{"prompt": "a"}', /it has no "answer" \(found: prompt\)/],
  ['{"question": "a"}', /it has no "text" \(found: question\)/],
  ['{"prompt": "a", "answer": 4}', /its "answer" must be text: it is 4/],
  ['{"text": ""}\n{"text": " "}', /all its texts are empty/],
  ['{"prompt": "a", "answer": ""}', /its "answer" must not be empty/],
  [
    '{"text": "a"}\n\n{"prompt": "a", "answer": "b"}',
    /line 3 .*: it holds prompt_answer, line 1 holds text/,
  ],
  ["\n \n", /Cannot use the dataset own\.jsonl: it holds no rows/],
];

for (const [text, message] of BROKEN) {
  Deno.test(`inspectLines() refuses ${JSON.stringify(text)} with its line`, () => {
    assert.throws(
      () => inspectLines(text, "own.jsonl"),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  });
}
