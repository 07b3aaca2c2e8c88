import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import tinyWords from "../../../plugins/evaluation/texts/tiny_words.ts";
import {
  type CallRequest,
  type Evaluation,
  healthFindings,
  type WireTask,
} from "../../../core/mod.ts";
import { type BackendClient, createBackendClient } from "../../../python-backends/client.ts";
import { readSamples } from "../../../tracker/store/rows/sample_file.ts";
import { world } from "../../core/study_world.ts";
import { must, trainedTinyModel } from "../../tiny_model.ts";
import { wiredTask } from "../../fixtures/wired_task.ts";

const WORDS = wiredTask(tinyWords, fileURLToPath(tinyWords.data_file!));
/** The same rows, answered in words of the model's own. */
const SAID: WireTask = {
  ...WORDS,
  task: "tiny_said",
  metric: "exact_match,none",
  scorers: [{ ...WORDS.scorers[0]!, scorer: "contains", params: { gold: "answer" } }],
  definition: {
    ...WORDS.definition,
    output_type: "generate_until",
    generation_kwargs: { until: ["."], max_gen_toks: 6, do_sample: false },
    metadata: { fields: { prompt: "string", answer: "string" } },
  },
};
const TASKS = [WORDS, SAID];
const ROWS = Array.from({ length: 30 }, (_, i) => i);

/** The checkpoint with the last normalisation's weights at 0: every logit is then 0. */
async function withoutLogits(from: string, to: string): Promise<string> {
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) {
    await Deno.copyFile(join(from, name), join(to, name));
  }
  const path = join(to, "model.safetensors");
  const bytes = await Deno.readFile(path);
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const [start, end]: [number, number] = header["model.norm.weight"].data_offsets;
  bytes.fill(0, 8 + length + start, 8 + length + end);
  await Deno.writeFile(path, bytes);
  return to;
}

async function evaluate(
  client: BackendClient,
  artifact_dir: string,
  samples_path: string,
): Promise<Evaluation> {
  const request: CallRequest<"evaluate"> = {
    call: "evaluate",
    artifact_dir,
    tasks: TASKS,
    selections: TASKS.map(({ task }) => ({ task, rows: ROWS })),
    fidelity: "proxy",
    batch_size: 16,
    samples_path,
    seed: 1,
    batched_apart: [],
    answers_path: null,
    answer_chars: 5,
    runtime: null,
    allow_unsafe_code: false,
  };
  const found = must(await client.run(request, { environment: "default" }));
  const samples = await readSamples(samples_path, found.samples_sha256);
  return { ...found, samples };
}

Deno.test("a model whose logits are all alike is told of: its score, and its one answer", async () => {
  const folder = await Deno.makeTempDir();
  const client = createBackendClient({ home: folder });
  try {
    const model = await trainedTinyModel(client);
    const broken = await withoutLogits(model, join(folder, "broken"));
    const sound = await evaluate(client, model, join(folder, "sound.parquet"));
    const flat = await evaluate(client, broken, join(folder, "flat.parquet"));
    const plan = world().input().spec;
    const spec = {
      ...plan,
      tasks: TASKS.map(({ task }) => ({ ...plan.tasks[0]!, task })),
    };
    assert.deepEqual(healthFindings(spec, sound, null), []);
    const found = healthFindings(spec, flat, sound);
    const conditionsOf = (task: string) =>
      found.flatMap(({ condition, evidence }) => evidence.startsWith(`${task},`) ? condition : []);
    assert.deepEqual(conditionsOf("tiny_words"), ["score_of_zero"]);
    assert.ok(conditionsOf("tiny_said").includes("score_of_zero"));
    const said = new Set(flat.samples.map(({ answer }) => answer));
    const answered = sound.samples.map(({ answer_length }) => answer_length ?? 0);
    assert.ok(said.size <= 2, "null where a word was not predicted, and one answer for all");
    assert.ok(
      conditionsOf("tiny_said").some((one) =>
        one === "one_answer_for_all" || one === "empty_answers"
      ),
    );
    assert.ok(Math.max(...answered) > 5, "whole answers are counted, five characters stored");
    assert.ok(sound.samples.every(({ answer }) => (answer?.length ?? 0) <= 5));
  } finally {
    await client.close();
    await Deno.remove(folder, { recursive: true });
  }
});
