import assert from "node:assert/strict";
import { parse } from "smol-toml";
import { readEvaluationConfig } from "../../../../core/serving/evaluation/evaluation_config.ts";
import { quotasOf } from "../../../../core/serving/evaluation/quotas.ts";
import { readScenario } from "../../../../core/serving/evaluation/scenario.ts";

/** As the requirement writes it, comments and all. */
const TOML = `
[green_agent]
agentbeats_id = "019bc421-99d0-7ee3-ae27-658145eff474"
env = { 
    OPENAI_API_KEY = "\${OPENAI_API_KEY}", 
    EVAL_CONFIG = "config/eval_medium.yaml",  # another one may stand here
    EVAL_DATA_REPO = "\${EVAL_DATA_REPO}"
}

[[participants]]
agentbeats_id = "019c16a8-a0b2-77c3-aae3-8e0c23ca5de1"
name = "purple_agent"
env = { 
    OPENAI_API_KEY = "\${OPENROUTER_KEY}",
    OPENAI_API_BASE = "https://\${HOST}/api/v1",
    LLM_MODEL = "meta-llama/llama-3.1-70b-instruct"
}

[config]
num_tasks = 100
conduct_debate = false
timeout_seconds = 600
datasets = ["bizfinbench", "synthetic", "options", "crypto", "gdpval"]
sampling_strategy = "stratified"
bizfinbench_limit = 30
synthetic_limit = 20
options_limit = 20
crypto_limit = 12
gdpval_limit = 18
`;
const ENV = { HOST: "openrouter.ai", OPENROUTER_KEY: "secret-of-nobody" };
const none = () => null;
const read = (text: string, env: Record<string, string> = ENV, base: typeof none = none) =>
  readScenario(parse(text), env, base);

Deno.test("the requirement's scenario is read: its limits, its total, and who is asked", () => {
  const { document, base_url, model, key_variable } = read(TOML);
  assert.equal(base_url, "https://openrouter.ai/api/v1");
  assert.equal(model, "meta-llama/llama-3.1-70b-instruct");
  assert.equal(key_variable, "OPENROUTER_KEY");
  const config = readEvaluationConfig(document);
  assert.equal(config.name, "purple_agent");
  assert.equal(config.timeout_seconds, 600);
  const quotas = quotasOf(config).map(({ type, samples }) => [type, samples]);
  assert.deepEqual(quotas, [
    ["bizfinbench", 30],
    ["synthetic", 20],
    ["options", 20],
    ["crypto", 12],
    ["gdpval", 18],
  ]);
  assert.ok(!JSON.stringify(document).includes("secret-of-nobody"), "no key is kept");
  const debate = TOML.replace("conduct_debate = false", "conduct_debate = true");
  assert.deepEqual([read(TOML), read(debate)].map((one) => one.conduct_debate), [undefined, true]);
});

Deno.test("a configuration that it names gives the fields of its datasets", () => {
  const asked: string[] = [];
  const base = (path: string) => {
    asked.push(path);
    return {
      name: "Own",
      datasets: [{ type: "crypto", path: "here", stride: 3 }, { type: "gsm8k", limit: 5 }],
      sampling: { strategy: "random", seed: 7 },
    };
  };
  const text = '[green_agent]\nenv = { EVAL_CONFIG = "own.yaml" }\n[config]\ncrypto_limit = 2\n';
  const { document } = readScenario(parse(text), {}, base);
  const { datasets, sampling, name } = readEvaluationConfig(document);
  assert.deepEqual(asked, ["own.yaml"]);
  assert.deepEqual([name, sampling.seed, sampling.strategy], ["Own", 7, "random"]);
  assert.deepEqual(datasets.map(({ type, limit }) => [type, limit]), [["crypto", 2], ["gsm8k", 5]]);
  assert.equal(datasets[0]!["stride"], 3);
});

Deno.test("what a scenario may not be is said in a sentence", () => {
  const refused = (from: string, to: string, message: RegExp, env = ENV) =>
    assert.throws(() => read(TOML.replace(from, to), env), message);
  refused("[config]", "[confg]", /Unknown section "confg"\. Did you mean "config"/);
  refused("options_limit", "option_limit", /Unknown field of config "option_limit"\. Did you mean/);
  refused("gdpval_limit = 18", "gdpval_limit = 0", /config\.gdpval_limit: it is a whole number/);
  refused('"${OPENROUTER_KEY}"', '"sk-or-v1-abc"', /a key is written out there/);
  refused("LLM_MODEL", "LLM_MODLE", /Unknown variable of participants\.env "LLM_MODLE"\. Did you/);
  refused("num_tasks = 100", 'num_tasks = "100"', /Cannot take config\.num_tasks/);
  refused("LLM_MODEL =", 'LLM_PROVIDER = "anthropic",\n    LLM_MODEL =', /Cannot ask .*anthropic/);
  assert.throws(() => read(TOML, {}), /participants\.env\.OPENAI_API_BASE: .*\$\{HOST\}.* not set/);
  assert.throws(() => read("[config]\nnum_tasks = 3\n"), /without datasets/);
  const two = `${TOML}\n[[participants]]\nname = "another"\n`;
  assert.throws(() => read(two), /2 participants at once/);
  const written = (() => {
    try {
      read(TOML.replace('"${OPENROUTER_KEY}"', '"sk-or-v1-abc"'));
    } catch (error) {
      return String(error);
    }
    return "";
  })();
  assert.ok(!written.includes("sk-or-v1-abc"), "the key is not repeated");
});
