import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withSettings } from "../../../core/mod.ts";
import { configuredEvaluation } from "../../../tracker/commands/input/configured_evaluation.ts";
import { evaluationFromOptions } from "../../../tracker/commands/study/evaluate.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { main } from "../../../tracker/cli.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const YAML = `
name: Two tasks
datasets:
  - type: gsm8k
    limit: 30
    shuffle: true
    weight: 3.0
  - type: mmlu
    limit_per_task: 2
  - type: prbench
    splits: [finance]
    limit: 20
sampling: { strategy: weighted, total_limit: 40, seed: 7 }
timeout_seconds: 120
`;

Deno.test("a configuration becomes a study: quotas by weight, the seed, and what is left out is said", () =>
  inDirectory(async (folder) => {
    const file = join(folder, "own.yaml");
    await writeFile(file, YAML);
    const { study, said, config } = configuredEvaluation(file, ["gsm8k"]);
    assert.equal(config.timeout_seconds, 120);
    assert.match(said, /^Two tasks: weighted, seed 7$/m);
    assert.match(said, /^gsm8k +30 +0\.750$/m);
    assert.match(said, /^mmlu +10 +0\.250$/m);
    assert.match(said, /left out, as no plugin here has them: prbench; weights are made anew/);
    const request = evaluationFromOptions({ model: "tiny" }, {}, study);
    assert.equal(request.dataset, "gsm8k,mmlu");
    assert.equal(request.seed, 7);
    assert.deepEqual(request.task_weights, { gsm8k: 3, mmlu: 1 });
    assert.deepEqual(request.sampling!.by_task!["gsm8k"], {
      ...{ strategy: "stratified", shuffle: true, seed: 7, total_limit: 30 },
    });
    assert.equal(request.sampling!.by_task!["mmlu"]!.limit_per_task, 2);
  }));

Deno.test("a preset of which nothing can be had here is refused with what is missing", () => {
  assert.throws(
    () => configuredEvaluation("quick", ["gsm8k"]),
    /Cannot evaluate "Quick Test \(10 tasks\)" as none of its datasets can be had here: .* bizfinbench, synthetic, options/,
  );
  const { said } = configuredEvaluation("quick", ["synthetic", "options"]);
  assert.match(said, /^synthetic +4 +0\.500$/m);
  assert.match(said, /^options +3 +0\.500$/m);
  assert.match(said, /no path is read for synthetic, options: their questions are made here/);
  assert.throws(
    () => configuredEvaluation("quik", []),
    /Unknown configuration "quik"\. Did you mean "quick"/,
  );
});

Deno.test("markets are traded as their entry says, of a folder where it is there", () =>
  inDirectory(async (folder) => {
    const file = join(folder, "markets.yaml");
    const entry = (path: string) => `{ type: crypto, path: ${path}, max_steps: 7 }`;
    const written = (datasets: string) =>
      writeFile(file, `name: Markets\ndatasets:\n  - ${datasets}\n`);
    await Deno.mkdir(join(folder, "here"));
    await written(entry("here"));
    const { study } = configuredEvaluation(file, ["crypto"]);
    const { path, max_steps, stride } = study.task_settings!["crypto"]!;
    assert.deepEqual([path, max_steps, stride], [join(folder, "here"), 7, 1]);
    await written(entry("gone"));
    assert.throws(
      () => configuredEvaluation(file, ["crypto"]),
      /there is no folder .*gone; without/,
    );
    await written(`${entry("gone")}\n  - { type: gsm8k }`);
    const { configuration, said } = configuredEvaluation(file, ["crypto", "gsm8k"]);
    assert.deepEqual(configuration.left_out.map(({ dataset }) => dataset), ["crypto"]);
    assert.match(said, /note: left out: crypto, as there is no folder/);
    await written(entry("gone").replace("}", ", download_on_missing: true }"));
    const made = configuredEvaluation(file, ["crypto"]);
    assert.match(made.said, /no path is read for crypto: their questions are made here/);
    assert.equal(made.study.task_settings!["crypto"]!["path"], undefined);
    const preset = configuredEvaluation("medium", ["crypto"]);
    assert.equal(preset.study.task_settings!["crypto"]!["path"], undefined);
    assert.match(preset.said, /no path is read for crypto/);
  }));

Deno.test("settings of a task that has none, or that are wrong, are refused with their place", async () => {
  const { tasks } = await discoverPlugins();
  const set = (task_settings: Record<string, Record<string, number>>) => () =>
    withSettings(tasks, { task_settings });
  assert.throws(set({ cripto: {} }), /Did you mean "crypto"/);
  assert.throws(set({ gsm8k: { stride: 2 } }), /Cannot set stride of gsm8k/);
  assert.throws(set({ crypto: { strid: 2 } }), /Did you mean "stride"/);
  assert.throws(set({ crypto: { stride: 0 } }), /Cannot take task_settings.crypto.stride/);
  const found = set({ crypto: { stride: 2 } })().find(({ name }) => name === "crypto")!;
  assert.equal(Object(found.definition).metadata.generator.stride, 2);
});

Deno.test("a scenario names who is asked; a key is looked up under the name that it gives", () =>
  inDirectory(async (folder) => {
    await writeFile(join(folder, "own.yaml"), YAML);
    const file = join(folder, "scenario.toml");
    await writeFile(
      file,
      `[green_agent]
env = { EVAL_CONFIG = "own.yaml" }
[[participants]]
env = { OPENAI_API_BASE = "http://127.0.0.1:9/v1", LLM_MODEL = "m", OPENAI_API_KEY = "\${NO_SUCH_KEY}" }
[config]
num_tasks = 12
datasets = ["gsm8k", "mmlu"]
gsm8k_limit = 8
`,
    );
    const { config, participant, study } = configuredEvaluation(file, ["gsm8k"]);
    assert.deepEqual(config.datasets.map(({ limit, weight }) => [limit, weight]), [
      [8, 3],
      [undefined, 1],
    ]);
    assert.equal(config.sampling.total_limit, 12);
    assert.equal(study.dataset, "gsm8k,mmlu");
    assert.deepEqual(participant, {
      ...{ base_url: "http://127.0.0.1:9/v1", model: "m", key_variable: "NO_SUCH_KEY" },
    });
    const { error } = console;
    const told: string[] = [];
    console.error = (...parts: unknown[]) => void told.push(parts.join(" "));
    try {
      assert.equal(await main(["evaluate", "--config", file]), 2);
    } finally {
      console.error = error;
    }
    assert.match(told.at(-1)!, /the variable NO_SUCH_KEY, its key, is not set/);
  }));

Deno.test("pare evaluate --config refuses --dataset beside it, and a file that is none", async () => {
  const { error } = console;
  const told: string[] = [];
  console.error = (...parts: unknown[]) => void told.push(parts.join(" "));
  try {
    assert.equal(
      await main(["evaluate", "--model", "tiny", "--config", "quick", "--dataset", "demo"]),
      2,
    );
    assert.equal(await main(["evaluate", "--model", "tiny", "--config", "none.yaml"]), 2);
  } finally {
    console.error = error;
  }
  assert.match(told[0]!, /Cannot take --dataset with --config/);
  assert.match(told[1]!, /Unknown configuration "none\.yaml"/);
});
