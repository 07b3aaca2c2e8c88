import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openLab, silentAsk, writeReport } from "../../tracker/mod.ts";
import { testBoard } from "../fixtures/stores/board.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const WORDS = [
  "the red fox",
  "lives in the den",
  "a grey owl",
  "sleeps near the pond",
  "and waits",
];

/** A text of five windows, of words that the tiny model knows. */
function text(): string {
  const at = (n: number) => WORDS[(n * n + (n >> 2)) % WORDS.length];
  return Array.from({ length: 400 }, (_, n) => at(n)).join(" ");
}

const keeping = (method: string, params: Record<string, number>) => ({
  actions: [{ agent: "kv_cache", method, params }],
});

/** Trials whose only action is a setting of the cache, through every real process. */
Deno.test("a study of cache policies scores what follows a context, of every trial alike", async (t) => {
  const folder = temporaryFolder("cache-study");
  const dataset = join(folder, "text.jsonl");
  await Deno.writeTextFile(dataset, JSON.stringify({ text: text() }) + "\n");
  await using lab = await openLab({ store: join(folder, "store") });
  const study = await lab.open({
    model_name: "tiny",
    dataset,
    max_trials: 2,
    // What is kept is the question here, not whether so little of it is good enough.
    constraints: { max_accuracy_drop: 1 },
    strategies: [
      keeping("snapkv", { budget: 32, window: 8 }),
      keeping("streaming", { sinks: 4, window: 28 }),
    ],
    methods: ["snapkv", "streaming"],
  }, "cache-test");
  const { trials } = await study.run({ ask: silentAsk(), signal: new AbortController().signal });
  const [baseline, snapkv, streaming] = trials;
  assert.deepEqual(trials.map(({ state }) => state), ["completed", "completed", "completed"]);
  const figure = (trial: typeof baseline, metric: string) =>
    trial!.measurements.findLast((one) => one.metric === metric && one.slice === null)?.value;

  await t.step("the spec says why, and every trial's protocol that it was so", async () => {
    const view = await lab.view(study.study_id);
    assert.equal(view.spec.evict_after, "context");
    const said = view.spec.assumptions.find(({ field }) => field === "evict_after");
    assert.match(said!.reason, /^snapkv chooses what to keep by what it has read/);
    const rows = await lab.sql`
      SELECT DISTINCT trial_id, value FROM protocol_parts WHERE part = 'evict_after' ORDER BY ALL`;
    assert.deepEqual(
      rows.map(({ value }) => value),
      Array.from({ length: 3 }, () => "context of 128 tokens"),
    );
    const protocols = await lab
      .sql`SELECT DISTINCT protocol FROM protocols WHERE fidelity = 'full'`;
    assert.equal(protocols.length, 1);
  });

  await t.step("what was let go of counts, and the original is 0 from itself", () => {
    for (const trial of [snapkv, streaming]) {
      assert.ok(figure(trial, "kl")! > 0.01, `${figure(trial, "kl")}`);
      assert.notEqual(figure(trial, "perplexity"), figure(baseline, "perplexity"));
    }
    assert.ok(Math.abs(figure(baseline, "kl")!) < 1e-6);
  });

  await t.step(
    "bytes are those of the tensors kept: layers, keys and values, heads, floats",
    () => {
      const aToken = 2 * 2 * 2 * 16 * 4;
      for (const trial of [snapkv, streaming]) {
        assert.equal(figure(trial, "kv_bytes"), 32 * aToken);
        assert.equal(figure(trial, "baseline_kv_bytes"), 128 * aToken);
      }
      const method = (trial: typeof baseline) =>
        trial!.measurements.find(({ metric }) => metric === "kv_bytes")!.method ?? "";
      assert.match(method(snapkv), /at once: 32 tokens kept a head, mean over 2 layers$/);
    },
  );

  await t.step("a setting is the child of the weights that it names", async () => {
    const rows = await lab.sql`
      SELECT artifact_id, method, parent_id, size_bytes FROM artifacts ORDER BY method NULLS FIRST`;
    const weights = rows[0]!["artifact_id"];
    assert.deepEqual(rows.map((row) => row["method"]), [null, "snapkv", "streaming"]);
    for (const row of rows.slice(1)) assert.equal(row["parent_id"], weights);
    const own = Number(rows[1]!["size_bytes"]) - Number(rows[0]!["size_bytes"]);
    assert.ok(own > 0 && own < 1000, `the setting's own file has ${own} bytes`);
  });

  await t.step("the report has the protocol and the cache's bytes", async () => {
    await writeReport(lab, study.study_id, { folder: join(folder, "report") });
    const page = await readFile(join(folder, "report", "report.html"), "utf8");
    assert.match(page, /evict_after[^<]*context of 128 tokens/);
    assert.match(page, /KV cache/);
    assert.match(page, /snapkv/);
  });
});

Deno.test("a study that names no such method reads whole texts, and says why it has none", async () => {
  const folder = temporaryFolder("cache-study");
  await using lab = await openLab({ store: join(folder, "store") });
  const study = await lab.open(
    { model_name: "tiny", dataset: "tiny", runtime: "transformers" },
    "whole",
  );
  const { spec } = study;
  assert.equal(spec.evict_after, undefined);
  const verdict = spec.methods.find(({ method }) => method === "snapkv")!;
  assert.equal(verdict.supported, false);
  assert.match(verdict.reason, /a study that names it from the beginning scores what follows/);
  assert.ok(spec.methods.find(({ method }) => method === "streaming")!.supported);
});

Deno.test("a sweep asks each prompt once of all its cells, and leaves results as papers keep them", async (t) => {
  const folder = temporaryFolder("cache-sweep");
  const dataset = join(folder, "text.jsonl");
  // Of its own run: answers that an earlier one kept would be found again.
  const words = Array.from({ length: 400 }, () => WORDS[Math.floor(Math.random() * WORDS.length)]);
  await Deno.writeTextFile(dataset, JSON.stringify({ text: words.join(" ") }) + "\n");
  await using lab = await openLab({ store: join(folder, "store") });
  const request = {
    ...{ model_name: "tiny", dataset, constraints: { max_accuracy_drop: 1 } },
    sweep: { methods: ["snapkv", "knorm"], budgets: [32, 64], set: { window: 8 } },
  };
  const study = await lab.open(request, "sweep-test");
  const { trials, stop } = await study.run({
    ask: silentAsk(),
    signal: new AbortController().signal,
  });
  assert.equal(stop, "end_of_plan");
  assert.deepEqual(trials.map(({ state }) => state), Array(5).fill("completed"));

  await t.step(
    "later cells find what the first one asked for them: nothing is read again",
    async () => {
      const rows = await lab.sql`
      SELECT trial_id, method FROM measurements
      WHERE metric = 'perplexity' AND task IS NOT NULL ORDER BY trial_id`;
      const reused = rows.map(({ method }) =>
        /(\d+) of (\d+) requests answered/.exec(String(method))?.slice(1).map(Number) ?? [0, 1]
      );
      assert.deepEqual(reused.slice(2).map(([own, all]) => own === all), [true, true, true]);
      assert.equal(reused[1]![0], 0);
    },
  );

  await t.step("the results' tree has every cell, its knobs and its figures", async () => {
    await writeReport(lab, study.study_id, { folder: join(folder, "report"), tables: true });
    const at = (name: string) => readFile(join(folder, "report", "results", name), "utf8");
    assert.match(await at("RESULTS.md"), /\| knorm \| 64 \| 32\.8 kB \|/);
    const summary = JSON.parse(await at("snapkv_tiny_32/summary.json"));
    assert.equal(summary.hyperparameters.budget, 32);
    assert.equal(summary.hyperparameters.window, 8);
    assert.equal(summary.experiment_id, `${study.study_id}/t01`);
    assert.equal(summary.environment.torch, "2.13.0");
    assert.match(summary.environment.python, /^3\.\d+\.\d+$/);
    assert.equal(summary.budget, 32);
    const predictions = JSON.parse(await at("snapkv_tiny_32/custom_text/predictions.json"));
    assert.ok(predictions.length >= 4 && predictions[0].kept_tokens === 32);
    const figure = trials[1]!.measurements.findLast(({ metric }) => metric === "perplexity")!;
    assert.equal(summary.results.custom_text.perplexity, figure.value);
  });

  await t.step("the board has the figures of its caches", async () => {
    await using board = testBoard([join(folder, "store")]);
    const text = async (path: string) => await (await board.ask(path)).text();
    const page = await text(`/studies/${study.study_id}`);
    assert.match(page, /What each cache policy keeps/);
    assert.match(page, /KV cache of a context[\s\S]*16\.4 kB/);
    assert.match(page, /"KV cache of a context","16\.4 kB"/, "of a point of the front");
    assert.match(page, /name="size" [^>]*value="0"[\s\S]*name="memory" [^>]*value="0\.\d/);
    for (const name of ["qualityByCache", "cacheByContext", "keptPlaces"]) {
      const figure = await text(`/api/studies/${study.study_id}/figures/${name}`);
      assert.match(figure, /^<svg[\s\S]*snapkv/, name);
    }
  });
});
