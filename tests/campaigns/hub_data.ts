import { ignoreUnless } from "../run/counts.ts";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { WHOLE_CAMPAIGN } from "../fixtures/campaign.ts";
import type { BenchmarkRows } from "../fixtures/benchmark_rows.ts";
import {
  dataDirectory,
  hubTasks,
  longModel,
  ownRows,
  type Place,
  prepared,
  repositoriesOf,
  scored,
} from "../fixtures/hub_data_world.ts";
import { startHub } from "../fixtures/hub_server.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const REAL = Deno.env.get("PARE_TEST_DATA") ??
  fileURLToPath(new URL("../../../shared/data", import.meta.url));

type Row = Record<string, unknown>;

async function rowsOf(file: string): Promise<Row[]> {
  const bytes = await readFile(join(REAL, file));
  const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => JSON.parse(line));
}

/** Part, file by split. */
const SPLITS: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  gsm8k: ["main", { test: "gsm8k/test.jsonl.gz" }],
  arc_challenge: ["ARC-Challenge", {
    test: "arc_challenge/test.jsonl.gz",
    train: "arc_challenge/train_exemplars.jsonl",
  }],
  commonsense_qa: ["default", { validation: "commonsense_qa/validation.jsonl.gz" }],
  winogrande: ["winogrande_xl", {
    validation: "winogrande/validation.jsonl.gz",
    train: "winogrande/train_exemplars.jsonl",
  }],
  hellaswag: ["default", {
    validation: "hellaswag/validation_olmes.jsonl.gz",
    train: "hellaswag/train_exemplars.jsonl",
  }],
  mmlu: ["all", { test: "mmlu/test.jsonl.gz", dev: "mmlu/dev.jsonl.gz" }],
  truthfulqa_mc1: ["multiple_choice", { validation: "truthful_qa/multiple_choice.jsonl.gz" }],
  truthfulqa_generation: ["generation", { validation: "truthful_qa/generation.jsonl.gz" }],
  humaneval: ["openai_humaneval", { test: "humaneval/test.jsonl.gz" }],
  lambada: ["default", { test: "lambada/test.jsonl.gz" }],
  wikitext2: ["wikitext-2-raw-v1", { test: "wikitext2/test.jsonl.gz" }],
};

/** Fields that the first split leaves empty are empty in all: lines of JSON tell no type of them. */
function alike(splits: Readonly<Record<string, Row[]>>): Record<string, Row[]> {
  const [first = []] = Object.values(splits);
  const empty = Object.keys(first[0] ?? {}).filter((key) =>
    first.every((row) => row[key] === null)
  );
  const nothing = Object.fromEntries(empty.map((key) => [key, null]));
  return Object.fromEntries(
    Object.entries(splits).map(([split, rows]) => [
      split,
      rows.map((row) => ({ ...row, ...nothing })),
    ]),
  );
}

/** The real records as the hub has them. */
async function realRows(): Promise<Record<string, BenchmarkRows>> {
  const found: Record<string, BenchmarkRows> = {};
  const add = (name: string, rows: BenchmarkRows["rows"]) => {
    found[name] = { repository: ownRows[name]!.repository, rows, files: {} };
  };
  for (const [name, [part, files]] of Object.entries(SPLITS)) {
    const splits: Record<string, Row[]> = {};
    for (const [split, file] of Object.entries(files)) splits[split] = await rowsOf(file);
    add(name, { [part]: alike(splits) });
  }
  const bbh = Map.groupBy(await rowsOf("bbh/test.jsonl.gz"), ({ subtask }) => String(subtask));
  add(
    "bigbench_hard",
    Object.fromEntries([...bbh].map(([subtask, rows]) => [subtask, {
      test: rows.map(({ input, target }) => ({ input, target })),
    }])),
  );
  const mbpp = await rowsOf("mbpp/full.jsonl.gz");
  const between = (first: number, last: number) =>
    mbpp.filter(({ task_id }) => first <= Number(task_id) && Number(task_id) <= last);
  add("mbpp", { full: { test: between(11, 510), prompt: between(1, 10) } });
  return found;
}

Deno.test("every benchmark: the same numbers from the hub, its cache and a folder", async () => {
  await shareDefaultEnvironment();
  const rows = (task: string) => task === "wikitext2" ? [0] : [0, 2];
  const asked = { model_dir: await longModel(), rows };
  const hub = startHub({}, await repositoriesOf(ownRows));
  try {
    assert.deepEqual(hubTasks.map(({ name }) => name).sort(), Object.keys(ownRows).sort());
    const here: Place = { hub, hf: temporaryFolder("hub-data-cache"), offline: false };
    const fetched = await scored(asked, null, here);
    assert.deepEqual(fetched.refused, []);
    const before = hub.requests.length;
    for (const offline of [false, true]) {
      assert.deepEqual(await scored(asked, null, { ...here, offline }), fetched);
    }
    const empty = { hub, hf: temporaryFolder("empty-cache"), offline: true };
    assert.deepEqual(await scored(asked, dataDirectory(ownRows), empty), fetched);
    assert.deepEqual(hub.requests.slice(before), [], "neither cache nor folder asks the hub");
  } finally {
    await hub.close();
  }
});

Deno.test({
  name: "real records: the same data, samples and scores from the hub, its cache and a folder",
  ignore: ignoreUnless(
    existsSync(REAL),
    "benchmark files are not here: PARE_TEST_DATA names the folder that holds them",
  ),
  fn: async () => {
    await shareDefaultEnvironment();
    const real = await realRows();
    const tasks = hubTasks.filter(({ name }) => name in real || name === "truthfulqa_mc2");
    const rows = (task: string) => task === "wikitext2" ? [7] : WHOLE_CAMPAIGN ? [0, 11, 60] : [60];
    const asked = { model_dir: await longModel(), tasks, rows };
    const hub = startHub({}, await repositoriesOf(real, () => true));
    try {
      const here: Place = { hub, hf: temporaryFolder("hub-real-cache"), offline: false };
      const fetched = await scored(asked, null, here);
      assert.deepEqual(await scored(asked, null, { ...here, offline: true }), fetched);
      assert.deepEqual(await scored(asked, REAL, { ...here, offline: true }), fetched);
      const names = tasks.map(({ name }) => name).filter((name) =>
        !["mbpp", "wikitext2"].includes(name) // a file of more rows; windows of a tokenizer
      );
      const whole = await prepared(names, null, here);
      assert.deepEqual(whole, await prepared(names, REAL, { ...here, offline: true }));
      assert.deepEqual([whole.size, [...whole.values()].includes("")], [names.length, false]);
    } finally {
      await hub.close();
    }
  },
});

Deno.test("a hub in trouble is one sentence, after its retries", async () => {
  await shareDefaultEnvironment();
  const all = await repositoriesOf(ownRows, () => true);
  const hub = startHub({}, {
    ...all,
    "openai/gsm8k": { ...all["openai/gsm8k"]!, status: 500 },
    "tau/commonsense_qa": { ...all["tau/commonsense_qa"]!, status: 429 },
  });
  const apart = (name: string): Place => ({ hub, hf: temporaryFolder(name), offline: false });
  const here = apart("hub-trouble");
  try {
    // Side by side, as each waits between its retries.
    const gone = { HF_ENDPOINT: "http://127.0.0.1:9" };
    const [said, other, none] = await Promise.all([
      prepared(["gsm8k", "winogrande"], null, here),
      prepared(["commonsense_qa", "winogrande"], null, apart("hub-trouble-other")),
      prepared(["gsm8k"], null, apart("hub-gone"), gone).then(() => "", String),
    ]);
    const disorder = /\): the hub at http\S+ cannot be reached or is out of order\. Name a folder/;
    for (const text of [said.get("gsm8k")!, other.get("commonsense_qa")!]) {
      assert.match(text, disorder);
    }
    assert.match(
      none,
      /: the hub at http:\/\/127\.0\.0\.1:9 cannot be reached or is out of order/,
    );
    const later = await prepared(["winogrande"], null, here, gone);
    assert.equal(later.get("winogrande"), said.get("winogrande"), "what was fetched once is there");
  } finally {
    await hub.close();
  }
});
