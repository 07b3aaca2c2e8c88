import assert from "node:assert/strict";
import { join } from "node:path";
import {
  chooseTasks,
  classifyDataset,
  type DatasetFacts,
  lengthsOf,
  StudyRequest,
  UsageError,
} from "../../../core/mod.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { withFoundTasks } from "../../../tracker/lab/data/find_tasks.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { readDataset } from "../../../tracker/lab/data/inspect_dataset.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { dataPath, withoutData } from "../../../tracker/lab/runner/task_data.ts";
import { quietRunner } from "../../fixtures/bare_study.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const registry = await discoverPlugins();
const client = createBackendClient({ home: temporaryFolder("find-tasks") });
let asked = 0;

const calls = quietRunner(client);
const runner: CallRunner = (...call) => {
  asked += 1;
  return calls(...call);
};

async function foundOf(request: StudyRequest) {
  return await withFoundTasks(request, await readDataset(request.dataset), registry, runner);
}

async function found(dataset: string, more: { data_dir?: string } = {}) {
  const request = StudyRequest.parse({ model_name: "tiny", dataset, ...more });
  const { tasks, agents } = await foundOf(request);
  return { request, tasks: tasks.slice(registry.tasks.length), all: tasks, agents };
}

async function refused(dataset: string, expected: RegExp) {
  await assert.rejects(found(dataset), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, expected);
    return true;
  });
}

Deno.test("a dataset of this project's own names asks nobody", async () => {
  const before = asked;
  const request = StudyRequest.parse({ model_name: "tiny", dataset: "gsm8k, core" });
  assert.equal(await foundOf(request), registry);
  assert.equal(asked, before);
});

Deno.test("lm-eval's tasks and groups become benchmarks of the study", async () => {
  const { tasks, request } = await found("gsm8k,piqa,lm_eval:gsm8k,lm_eval:ai2_arc,arc_easy");
  assert.deepEqual(tasks.map(({ name, datasets }) => [name, datasets]), [
    ["piqa", ["piqa"]],
    ["lm_eval:gsm8k", ["lm_eval:gsm8k"]],
    ["lm_eval:arc_challenge", ["lm_eval:ai2_arc"]],
    ["arc_easy", ["lm_eval:ai2_arc", "arc_easy"]],
  ]);
  assert.equal(dataPath(tasks[0]!, request), null);
});

Deno.test("a task's own folder of --data-dir is read; a file that it lacks is named", async () => {
  const folder = temporaryFolder("task-data");
  await Deno.mkdir(join(folder, "gsm8k"));
  const bare = await found("lm_eval:gsm8k", { data_dir: folder });
  assert.match(
    withoutData(bare.tasks, bare.request)[0]?.reason ?? "",
    /Cannot read the data of lm_eval:gsm8k: .*gsm8k.test\.jsonl\.gz is not there/,
  );
  await Deno.writeTextFile(join(folder, "gsm8k", "test.jsonl"), "{}\n");
  await Deno.writeTextFile(join(folder, "gsm8k", "train.jsonl"), "{}\n");
  const { tasks: [task], request } = await found("lm_eval:gsm8k,piqa", { data_dir: folder });
  assert.equal(dataPath(task!, request), join(folder, "gsm8k", "test.jsonl"));
  assert.deepEqual(task?.definition?.["dataset_kwargs"], {
    data_files: { train: join(folder, "gsm8k", "train.jsonl") },
  });
});

Deno.test("a task file is found by its path, and its mistakes are said", async () => {
  const folder = temporaryFolder("task-file");
  const path = join(folder, "own.yaml");
  const text = [
    "task: own",
    "dataset_path: json",
    "dataset_kwargs: {data_files: {test: own.jsonl}}",
    "test_split: test",
    "output_type: generate_until",
    "doc_to_text: '{{question}}'",
    "doc_to_target: answer",
    "metadata: {chance: 0.1, proxy_samples: 7}",
  ].join("\n");
  await Deno.writeTextFile(join(folder, "own.jsonl"), '{"question": "a", "answer": "b"}\n');
  await Deno.writeTextFile(path, text);
  const { tasks: [own], request } = await found(`gsm8k,${path}`);
  assert.deepEqual([own?.name, own?.chance, own?.proxy_samples, own?.metric], [
    "own",
    0.1,
    7,
    "exact_match,none",
  ]);
  assert.equal(dataPath(own!, request), join(folder, "own.jsonl"));
  await Deno.writeTextFile(path, text.replace("task: own", "task: gsm8k"));
  await refused(path, /its task is called "gsm8k", as a benchmark of this project is/);
  await Deno.writeTextFile(path, text.replace("doc_to_text", "doc_to_txt"));
  await refused(path, /own\.yaml: Unknown key "doc_to_txt"\. Did you mean "doc_to_text"/);
});

Deno.test("a misspelled name gets the nearest; one that nobody could mean is left to the core", async () => {
  await refused("pqia", /Unknown dataset "pqia"\. Did you mean "piqa".*of lm-eval/);
  await refused("gsm8k,lm_eval:pqia", /Unknown task of lm-eval "pqia"\. Did you mean "piqa"/);
  await refused("lm_eval:humaneval", /runs code that the model writes.*sandbox/);
  assert.deepEqual((await found("gms8k")).tasks, []);
  assert.deepEqual((await found("quarterly-support-tickets")).tasks, []);
});

Deno.test("files stand in a list; a broken one is left out with its reason", async () => {
  const folder = temporaryFolder("task-list");
  const file = async (name: string, text: string) => {
    await Deno.writeTextFile(join(folder, name), text);
    return join(folder, name);
  };
  const own = await file("own.jsonl", '{"prompt": "a", "answer": "b"}\n');
  const gsm8k = await file("gsm8k.jsonl", '{"text": "a"}\n');
  const cut = await file("cut.jsonl", '{"text": "a"}\n{"text": \n');
  const empty = await file("empty.jsonl", "\n");
  const yaml = await file("bad.yaml", "task: bad\noutput_type: [a\n");
  const { tasks, all, agents } = await found(["gsm8k", own, gsm8k, cut, empty, yaml].join());
  assert.deepEqual(tasks.map(({ name, metric }) => [name, metric]), [
    ["own", "acc,none"],
    ["gsm8k.jsonl", "perplexity"],
  ]);
  const sets = agents.flatMap((agent) => agent.benchmark_sets ?? []);
  const dataset = ["gsm8k", own, cut, empty, yaml].join();
  const named = { dataset, kind: "named", path: null, format: null, rows: null, sha256: null };
  const choice = chooseTasks(
    named as DatasetFacts,
    classifyDataset(named as DatasetFacts, sets),
    all,
    sets,
  );
  assert.deepEqual(choice.tasks.map(({ name }) => name), ["gsm8k", "own"]);
  const [line, nothing, document] = choice.warnings;
  assert.match(line!, /cut\.jsonl is left out and .* on gsm8k, own alone: Cannot read line 2 of/);
  assert.match(nothing!, /empty\.jsonl is left out .*: it holds no rows/);
  assert.match(document!, /bad\.yaml is left out .*: it is no YAML at line 3/);
  await refused([cut, yaml].join(), /Cannot read line 2 of .*; Cannot read the task file .*bad/);
});

Deno.test("RULER's tasks are made of the lengths that a name says", async () => {
  const before = asked;
  const { tasks, all, request, agents } = await found("ruler_vt:8192, ruler:512+1024+512");
  assert.equal(asked, before, "lm-eval is not asked");
  assert.equal(tasks.length, 14);
  assert.equal(tasks[0]!.name, "ruler_vt_8192");
  assert.ok(tasks.some(({ name }) => name === "ruler_niah_single_1_512_1024"));
  assert.deepEqual(lengthsOf(tasks[0]!), [8192]);
  assert.deepEqual(lengthsOf(all.find(({ name }) => name === "ruler_vt")!), [
    512,
    1024,
    2048,
    4096,
  ]);
  const sets = agents.flatMap((agent) => agent.benchmark_sets ?? []);
  const facts: DatasetFacts = {
    dataset: request.dataset,
    ...{ kind: "named", path: null, format: null, rows: null, sha256: null },
  };
  const chosen = chooseTasks(facts, classifyDataset(facts, sets), all, sets);
  assert.equal(chosen.tasks.length, 14);
  assert.ok(chosen.tasks.every(({ name }) => /_(8192|512_1024)$/.test(name)));
  await refused("gsm8k:4096", /Cannot make gsm8k of 4096 tokens as its samples are what they are/);
});
