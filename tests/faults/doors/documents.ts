/** Valid documents, by the door that reads them: the file's name and its text. */

const STUDY = {
  ...{ model_name: "tiny", dataset: "tiny", max_trials: 3, seed: 1, budget_seconds: 600 },
  objectives: { accuracy: 0.7, latency: 0.1, memory: 0.2 },
  constraints: { max_accuracy_drop: 0.02 },
  strategies: [{ actions: [{ agent: "quantization", method: "rtn", params: { bits: 4 } }] }],
};

const RECORDED = {
  ...{ format: "pare-recorded-1", study_id: "s", request: STUDY, model: [], dataset_sha256: null },
  ...{ machine: { cpu: "x" }, recommended: null, trials: [] },
};

const EVALUATION = `name: Two tasks
timeout_seconds: 60
datasets:
  - { type: gsm8k, limit: 4, weight: 1 }
  - { type: mmlu, limit: 4, weight: 2, shuffle: true }
sampling: { strategy: stratified, total_limit: 6, seed: 42 }
llm_eval: { enabled: true, model: judge, temperature: 0 }
`;

const SCENARIO = `[green_agent]
env = { OPENAI_API_KEY = "\${KEY}" }

[[participants]]
name = "own"
env = { OPENAI_API_BASE = "https://example.org/api/v1", LLM_MODEL = "m" }

[config]
num_tasks = 10
timeout_seconds = 600
datasets = ["bizfinbench", "synthetic"]
bizfinbench_limit = 3
`;

const EXPERIMENTS =
  `defaults: { eval_config: quick, endpoint: "http://127.0.0.1:9/v1", concurrency: 2 }
experiments:
  - name: models
    configs:
      - { id: a, llm_model: a, key_variable: KEY }
      - { id: b, llm_model: b, api: messages, num_tasks: 3 }
prices: { a: { input: 1, output: 4 }, b: { input: 1, output: 4 } }
budget: { money: 1 }
`;

const ENGINES = `engines:
  workstation: { kind: local, limits: { gpu: 4 } }
  big: { kind: slurm, partition: gpu, extra: [--qos=low], hours: 2, price_per_hour: 12.5 }
  far: { kind: ray, address: "ray://127.0.0.1:8265", artifacts: "s3://models/pare" }
`;

const LABELS = 'sample_id,label,note\n1,yes,"a ""quoted"" word, and\na line"\n2,0.5,\n3,no,x\n';

const CARD = "---\nlicense: apache-2.0\ntags:\n  - text\n---\n# A model\n";

const CONFIG = {
  ...{ model_type: "llama", architectures: ["LlamaForCausalLM"], hidden_size: 64, vocab_size: 320 },
  ...{
    intermediate_size: 96,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
  },
  ...{ max_position_embeddings: 512, tie_word_embeddings: false, torch_dtype: "float16" },
};

const LOG = "INFO start\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n";

const json = (value: unknown) => JSON.stringify(value, null, 1);

export const DOCUMENTS: Readonly<Record<string, readonly [file: string, text: string]>> = {
  study: ["study.json", json(STUDY)],
  evaluation: ["evaluation.yaml", EVALUATION],
  scenario: ["scenario.toml", SCENARIO],
  experiments: ["experiments.yaml", EXPERIMENTS],
  engines: ["engines.yaml", ENGINES],
  labels: ["labels.csv", LABELS],
  server_log: ["server.log", LOG],
};

/** The same for doors that are given a folder. */
export const FOLDER_DOCUMENTS: typeof DOCUMENTS = {
  recorded: ["recorded.json", json(RECORDED)],
  model_card: ["README.md", CARD],
  plan: ["config.json", json(CONFIG)],
};
