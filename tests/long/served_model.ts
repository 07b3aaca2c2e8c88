import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { createBackendClient } from "../../python-backends/client.ts";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { evaluationFromOptions } from "../../tracker/commands/study/evaluate.ts";
import { type Lab, openLab, silentAsk } from "../../tracker/mod.ts";
import { rounds } from "../fixtures/campaign.ts";
import { llamaCppServe, transformersServe } from "../fixtures/model_server.ts";
import { must } from "../tiny_model.ts";

const TASK = fileURLToPath(new URL("../fixtures/generated_words.ts", import.meta.url));
const SAMPLES = String(rounds(8, 20));
/** llama-cpp-python sorts the whole vocabulary for every token, which takes seconds a request. */
const SCORED_SAMPLES = String(rounds(3, 6));

interface Sample {
  task: string;
  sample_hash: string;
  prompt_hash: string;
  score: number;
  answer: string;
  log_likelihood: number;
}

/** Runs `pare evaluate` with these options and gives the trial's samples. */
async function evaluate(lab: Lab, name: string, options: Record<string, unknown>) {
  const request = evaluationFromOptions(options, {});
  const session = await lab.open(request, name);
  const result = await session.run({ ask: silentAsk() });
  assert.equal(result.stop, "evaluated", result.message);
  const rows = await lab.sql<Sample>`
    SELECT task, sample_hash, prompt_hash, score, answer, log_likelihood FROM samples
    WHERE trial_id = ${`${name}/t00`} ORDER BY task, sample_id`;
  return { session, rows: [...rows] };
}

Deno.test("transformers serve gives the demo model's own generations, every one", async () => {
  const { python } = await ensureEnvironment("serve");
  const store = await Deno.makeTempDir();
  try {
    await using lab = await openLab({ store });
    const common = { dataset: "generated_words", plugin: [TASK], fullSamples: SAMPLES };
    const own = await evaluate(lab, "own", { ...common, model: "demo" });
    const folder = own.session.facts.model.path;
    await using server = await transformersServe(python, folder);
    const endpoint = { endpoint: server.base_url, servedModel: folder, concurrency: "2" };
    const served = await evaluate(lab, "served", { ...common, ...endpoint });
    assert.equal(served.rows.length, Number(SAMPLES));
    assert.deepEqual(served.rows, own.rows);
  } finally {
    await Deno.remove(store, { recursive: true });
  }
});

/** The model with a tokenizer that begins every text, which llama-cpp-python's figures need. */
async function begunModel(model_dir: string, folder: string): Promise<string> {
  const begun = join(folder, "begun");
  await mkdir(begun);
  for (const name of await readdir(model_dir)) {
    // Copies: a link out of a model's directory is refused.
    await copyFile(join(model_dir, name), join(begun, name));
  }
  const edit = async (name: string, change: (read: Record<string, unknown>) => void) => {
    const read = JSON.parse(await readFile(join(begun, name), "utf8"));
    change(read);
    await writeFile(join(begun, name), JSON.stringify(read));
    return read;
  };
  const { bos_token } = await edit("tokenizer_config.json", (read) => read.add_bos_token = true);
  await edit("tokenizer.json", (read) => {
    const added = read.added_tokens as { id: number; content: string }[];
    const { id } = added.find(({ content }) => content === bos_token)!;
    const first = { SpecialToken: { id: bos_token, type_id: 0 } };
    const sequence = (name: string) => ({ Sequence: { id: name, type_id: 0 } });
    read.post_processor = {
      type: "TemplateProcessing",
      single: [first, sequence("A")],
      pair: [first, sequence("A"), sequence("B")],
      special_tokens: { [bos_token]: { id: bos_token, ids: [id], tokens: [bos_token] } },
    };
  });
  return begun;
}

Deno.test("llama.cpp's server gives the demo model's own log-likelihoods, every one", async () => {
  const { python } = await ensureEnvironment("llama_cpp");
  const folder = await Deno.makeTempDir();
  try {
    await using lab = await openLab({ store: join(folder, "store") });
    const common = { dataset: "last_words,everyday_choice", fullSamples: SCORED_SAMPLES };
    const demo = await lab.open(evaluationFromOptions({ ...common, model: "demo" }, {}), "demo");
    const begun = await begunModel(demo.facts.model.path, folder);
    const own = await evaluate(lab, "own", { ...common, model: begun });
    await mkdir(join(folder, "gguf"));
    const client = createBackendClient();
    const written = {
      runtime: "llama.cpp",
      artifact_dir: begun,
      output_dir: join(folder, "gguf"),
      exact: true,
    };
    must(await client.run({ call: "make_form", ...written }, { environment: "default" }));
    await client.close();
    await using server = await llamaCppServe(python, join(folder, "gguf", "model.gguf"));
    const served = await evaluate(lab, "served", { ...common, endpoint: server.base_url });
    assert.equal(served.rows.length, 2 * Number(SCORED_SAMPLES));
    for (const [place, { log_likelihood, ...row }] of served.rows.entries()) {
      const { log_likelihood: expected, ...other } = own.rows[place]!;
      assert.deepEqual(row, other);
      assert.ok(Math.abs(log_likelihood - expected) < 0.01, `${log_likelihood}, ${expected}`);
    }
    const again = await lab.sql`SELECT count(*)::INTEGER AS n FROM protocols a JOIN protocols b
      USING (task, protocol) WHERE a.study_id = 'own' AND b.study_id = 'served'`;
    assert.deepEqual([...again], [{ n: 2 }], "the same protocol: they may be compared");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const QUESTIONS = [
  "What is the capital of France?",
  "Do fish live in trees?",
  "What is two plus two?",
];

Deno.test("the demo model judges by chat: every verdict is kept, none is guessed", async () => {
  const { python } = await ensureEnvironment("serve");
  const folder = await Deno.makeTempDir();
  try {
    const rows = QUESTIONS.map((question) => ({
      ...{ question, best_answer: "Paris.", correct_answers: ["Paris."] },
      ...{ incorrect_answers: ["Rome."], type: "Adversarial", category: "x" },
    }));
    await mkdir(join(folder, "truthful_qa"));
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    await writeFile(join(folder, "truthful_qa", "generation.jsonl.gz"), gzipSync(lines));
    await using lab = await openLab({ store: join(folder, "store") });
    const options = { dataset: "truthfulqa_generation", dataDir: folder, model: "demo" };
    const { facts } = await lab.open(evaluationFromOptions(options, {}), "facts");
    await using server = await transformersServe(python, facts.model.path);
    const judge = {
      judgeEndpoint: [server.base_url],
      judgeModel: [facts.model.path],
      judgeChat: true,
    };
    const session = await lab.open(evaluationFromOptions({ ...options, ...judge }, {}), "judged");
    const { message } = await session.run({ ask: silentAsk() });
    const judged = await lab.sql<{ verdict: string | null; reply: string }>`
      SELECT verdict, reply FROM verdicts WHERE judge = ${facts.model.path}
        AND question = 'truth' AND prompt_hash IS NOT NULL AND reply <> ''`;
    assert.equal(judged.length, QUESTIONS.length, message);
    for (const { verdict, reply } of judged) {
      const said = /^\W*(yes|no)\b/i.exec(reply)?.[1]?.toLowerCase();
      assert.equal(verdict, said ?? null, reply);
    }
    const read = judged.filter(({ verdict }) => verdict !== null).length;
    const rates = await lab.sql<{ n: number }>`
      SELECT n FROM measurements WHERE study_id = 'judged' AND metric = 'truth_rate'`;
    assert.deepEqual(rates.map(({ n }) => Number(n)), read === 0 ? [] : [read]);
    const alerts = await lab.sql<{ evidence: string }>`
      SELECT evidence FROM alerts WHERE study_id = 'judged' AND condition = 'unscored'`;
    const unread = alerts.find(({ evidence }) => evidence.includes("have no truth_rate"))?.evidence;
    if (read === QUESTIONS.length) assert.equal(unread, undefined);
    else assert.match(unread!, new RegExp(`^${QUESTIONS.length - read} of ${QUESTIONS.length} `));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
