import { ignoreUnless } from "../../run/counts.ts";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createBackendClient } from "../../../python-backends/client.ts";
import { findEnvironment } from "../../../python-backends/environments/environments.ts";
import { evaluationFromOptions } from "../../../tracker/commands/study/evaluate.ts";
import { type Lab, openLab, silentAsk } from "../../../tracker/mod.ts";
import { transformersServe } from "../../fixtures/model_server.ts";
import { trainedTinyModel } from "../../tiny_model.ts";

const TASK = fileURLToPath(new URL("../../fixtures/generated_words.ts", import.meta.url));
const SAMPLES = 12;

const serve = await findEnvironment("serve");

async function evaluate(lab: Lab, name: string, options: Record<string, unknown>) {
  const common = { plugin: [TASK], fullSamples: String(SAMPLES) };
  const session = await lab.open(evaluationFromOptions({ ...common, ...options }, {}), name);
  return await session.run({ ask: silentAsk() });
}

Deno.test({
  name: "pare evaluate of transformers serve gives the model's own generations",
  ignore: ignoreUnless(
    serve !== null,
    "the environment serve is not here: `npx -y deno task pare setup serve` makes it",
  ),
}, async () => {
  const client = createBackendClient();
  const model_dir = await trainedTinyModel(client);
  await client.close();
  const starting = transformersServe(serve!.python, model_dir);
  const store = await Deno.makeTempDir();
  try {
    await using lab = await openLab({ store });
    const own = await evaluate(lab, "own", { model: model_dir, dataset: "generated_words" });
    assert.equal(own.stop, "evaluated", own.message);
    await using server = await starting;
    const served = await evaluate(lab, "served", {
      ...{ endpoint: server.base_url, servedModel: model_dir, concurrency: "2" },
      dataset: "generated_words,tiny_words",
    });
    // It scores no given text, and says nothing of log-probabilities that it leaves out.
    assert.equal(served.stop, "failed");
    assert.match(
      served.message,
      /^Cannot evaluate 1 of 2 tasks \(tiny_words\): Cannot take log-probabilities from http/,
    );
    const rows = await lab.sql<{ own: string; served: string }>`
      SELECT a.answer AS own, b.answer AS served FROM samples a JOIN samples b
      USING (task, sample_hash, prompt_hash, gold, score)
      WHERE a.trial_id = 'own/t00' AND b.trial_id = 'served/t00'`;
    assert.equal(rows.length, SAMPLES);
    assert.deepEqual(rows.map((row) => row.served), rows.map((row) => row.own));
  } finally {
    await (await starting.catch(() => null))?.[Symbol.asyncDispose]();
    await Deno.remove(store, { recursive: true });
  }
});
