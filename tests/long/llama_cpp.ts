import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CallRequest, type SampleResult } from "../../core/mod.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { readSamples } from "../../tracker/store/rows/sample_file.ts";
import { rounds } from "../fixtures/campaign.ts";
import { wiredTask } from "../fixtures/wired_task.ts";
import { runPare } from "../fixtures/programs.ts";

/** Keys and values that nothing rounds. */
const STRICT = { kv_precision: "f32", flash_attention: false, threads: 0, repack: true };
/** Of each task that is scored twice. */
const ROWS = Array.from({ length: rounds(6, 30) }, (_, row) => row);

interface Result {
  vector: { strategy_id: string; latency_ms: number | null };
}

/** Samples of the demo model's 4-bit artifact: in transformers, and in two GGUF files of it. */
async function demoSamples(folder: string) {
  const client = createBackendClient();
  const run = async <R extends CallRequest>(request: R) => {
    const outcome = await client.run(request, { environment: "default" });
    if (!outcome.ok) throw new Error(outcome.failure.message);
    return outcome.value;
  };
  const place = async (name: string) => {
    const path = join(folder, name);
    await mkdir(path);
    return path;
  };
  const [output_dir, artifact_dir] = [await place("model"), await place("artifact")];
  const { path: parent_dir } = await run({
    call: "import_model",
    model_name: "demo",
    output_dir,
    trust_remote_code: false,
  });
  await run({
    call: "apply",
    parent_dir,
    output_dir: artifact_dir,
    agent: "quantization",
    method: "rtn",
    params: { bits: 4, group_size: 64, symmetric: true, targets: "linear" },
    calibration_path: null,
    seed: 1,
    python_path: null,
  });
  const tasks = (await discoverPlugins([])).tasks
    .filter(({ name }) => ["everyday_choice", "last_words"].includes(name))
    .map((task) => wiredTask(task, fileURLToPath(task.data_file!)));
  const scored = async (
    name: string,
    form_dir: string | null,
    cache: Readonly<{ cache?: typeof STRICT }> = {},
  ): Promise<SampleResult[]> => {
    const samples_path = join(folder, `${name}.parquet`);
    const python = await client.pythonOf("llama_cpp");
    const { samples_sha256 } = await run({
      call: "evaluate",
      artifact_dir,
      tasks,
      selections: tasks.map(({ task }) => ({ task, rows: ROWS })),
      fidelity: "proxy",
      batch_size: 16,
      samples_path,
      seed: 1,
      batched_apart: [],
      answers_path: null,
      answer_chars: 100,
      runtime: form_dir === null ? null : { name: "llama.cpp", form_dir, python, ...cache },
      allow_unsafe_code: false,
    });
    return await readSamples(samples_path, samples_sha256);
  };
  const gguf = async (name: string, exact: boolean) => {
    const output_dir = await place(name);
    await run({ call: "make_form", runtime: "llama.cpp", artifact_dir, output_dir, exact });
    // Who has such a file talks to it.
    const { notes } = JSON.parse(await readFile(join(output_dir, "gguf.json"), "utf8"));
    assert.deepEqual(notes.filter((one: string) => one.includes("tokenizer")), []);
    return await scored(name, output_dir, exact ? { cache: STRICT } : {});
  };
  try {
    return {
      plain: await scored("plain", null),
      exact: await gguf("floats", true),
      own: await gguf("integers", false),
    };
  } finally {
    await client.close();
  }
}

/** Largest difference of log-likelihoods in nats, and how many choices and greedy answers differ. */
function apart(one: readonly SampleResult[], other: readonly SampleResult[]) {
  const pairs = one.map((sample, index) => [sample, other[index]!] as const);
  for (const [a, b] of pairs) assert.equal(a.sample_hash, b.sample_hash);
  const nats = pairs.map(([a, b]) => Math.abs(a.log_likelihood! - b.log_likelihood!));
  return {
    largest: Math.max(...nats),
    answers: pairs.filter(([a, b]) => a.answer !== b.answer).length,
  };
}

Deno.test("llama.cpp runs the demo model as it is", async (t) => {
  const folder = await Deno.makeTempDir();
  try {
    await t.step("it scores the demo model's samples as transformers does", async () => {
      const { plain, exact, own } = await demoSamples(folder);
      assert.equal(plain.length, 2 * ROWS.length);
      const [same, rounded] = [apart(plain, exact), apart(plain, own)];
      console.log("float32 weights", same, "integers, their inputs rounded", rounded);
      assert.ok(same.largest <= 5e-3, `${same.largest} nats`);
      assert.equal(same.answers, 0);
      assert.ok(rounded.largest > same.largest && rounded.largest <= 2, `${rounded.largest} nats`);
      assert.ok(rounded.answers <= plain.length / 10, `${rounded.answers} answers differ`);
    });
    await t.step(
      "a study measures speed in it alone, and scores in it",
      async () => {
        const store = join(folder, "store");
        const output = join(folder, "out");
        const run = await runPare([
          ...["run", "--model", "tiny", "--dataset", "tiny"],
          ...["--runtime", "llama.cpp", "--yes", "--store", store, "--output", output],
          ...["--max-trials", "1", "--methods", "rtn"],
          ...["--proxy-samples", "8", "--full-samples", "8"],
        ]);
        assert.equal(run.exitCode, 0, `${run.stdout}\n${run.stderr}`);
        const results: Result[] = JSON.parse(await readFile(join(output, "results.json"), "utf8"));
        const [baseline, ...trials] = results;
        assert.equal(trials.length, 1);
        assert.ok(baseline!.vector.latency_ms! > 0);
        // Few samples may stop a trial on the proxy, before it is timed.
        assert.ok(trials.some(({ vector }) => vector.latency_ms !== null && vector.latency_ms > 0));
        const asked = await runPare([
          ...["sql", "--store", store, "--format", "json"],
          "SELECT DISTINCT runtime FROM measurements WHERE runtime IS NOT NULL",
        ]);
        assert.deepEqual(JSON.parse(asked.stdout), [{ runtime: "llama.cpp" }]);
        const rows = await runPare([
          ...["sql", "--store", store, "--format", "json"],
          "SELECT metric, bool_and(minimum <= value AND value <= maximum) AS spread " +
          "FROM measurements WHERE runtime = 'llama.cpp' GROUP BY metric",
        ]);
        const found: { metric: string; spread: boolean | null }[] = JSON.parse(rows.stdout);
        const spread = new Map(found.map((row) => [row.metric, row.spread]));
        for (const metric of ["latency_ms", "prefill_ms_per_token"]) {
          assert.equal(spread.get(metric), true, metric);
        }
        const rest = ["memory_bytes", "roofline_ms", "energy_j_per_1k_tokens", "runtime_kl"];
        for (const metric of [...rest, "runtime_accuracy", "runtime_accuracy_change"]) {
          assert.ok(spread.has(metric), `no ${metric}`);
        }
      },
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
