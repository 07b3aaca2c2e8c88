import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CallRequest, ModelFacts } from "../../core/mod.ts";
import text from "../../plugins/evaluation/texts/custom_text.ts";
import { must, type TinyWorld } from "../tiny_model.ts";
import { wiredTask } from "../fixtures/wired_task.ts";

/**
 * An artifact that is a setting is scored under the protocol that it needs, and under no other: where it
 * chooses by what was read, a pass over whole texts is refused. `model` is what its method leaves.
 */
export async function settingConformance(
  directory: string,
  model: ModelFacts,
  world: TinyWorld,
  environment: string,
): Promise<void> {
  const path = join(world.folder, "setting_text.jsonl");
  const words = "the red fox lives in the den and a grey owl sleeps near the pond ";
  await writeFile(path, JSON.stringify({ text: words.repeat(30) }) + "\n");
  const request: CallRequest<"evaluate"> = {
    call: "evaluate",
    artifact_dir: directory,
    weights_dir: world.model_dir,
    tasks: [{ ...wiredTask(text, path), window_tokens: 200 }],
    selections: [{ task: text.name, rows: [0, 1] }],
    fidelity: "full",
    batch_size: 4,
    samples_path: join(world.folder, "setting.parquet"),
    seed: 1,
    batched_apart: [],
    answers_path: null,
    answer_chars: 100,
    runtime: null,
    allow_unsafe_code: false,
  };
  const evict_after = model.cache?.evict_after;
  const whole = await world.client.run(request, { environment });
  assert.equal(whole.ok, evict_after === undefined);
  if (!whole.ok) assert.match(whole.failure.message, /Cannot score whole texts/);
  const cut = must(await world.client.run({ ...request, evict_after: "context" }, { environment }));
  const own = must(
    await world.client.run({
      ...request,
      artifact_dir: world.model_dir,
      weights_dir: undefined,
      evict_after: "context",
    }, { environment }),
  );
  assert.deepEqual(cut.protocol, own.protocol, "the original is scored alike");
  assert.equal(cut.protocol_parts[text.name]!["evict_after"], "context of 100 tokens");
  const [value, before] = [cut, own].map(({ measurements }) => measurements[0]!.value);
  assert.ok(Number.isFinite(value) && value !== before, "nothing was let go of");
}
