import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createBackendClient } from "../../python-backends/client.ts";
import { pinsHash } from "../../python-backends/environments/environment_pins.ts";
import { usedHash } from "../../python-backends/environments/environments.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { runAgainBlocks } from "../../tracker/show/reports/provenance_blocks.ts";
import {
  plainPython,
  shareDefaultEnvironment,
  withVariables,
} from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { trainedTinyModel } from "../tiny_model.ts";

const PLUGIN = fileURLToPath(new URL("../fixtures/third_party/depth/depth.ts", import.meta.url));
const PINS = fileURLToPath(
  new URL("../fixtures/third_party/depth/python/envs/depth", import.meta.url),
);

/** The tiny model as a checkpoint of the user's own: nothing is converted into a new home. */
async function tinyModel(): Promise<string> {
  const client = createBackendClient();
  try {
    return await trainedTinyModel(client);
  } finally {
    await client.close();
  }
}

/** Names of the environments that a home has. */
function made(home: string): string[] {
  const folder = join(home, "envs");
  if (!existsSync(folder)) return [];
  return Array.from(Deno.readDirSync(folder)).filter(({ isDirectory }) => isDirectory)
    .map(({ name }) => name.split("-")[0]!);
}

Deno.test("a third party's method that is no quantizer runs a study through in its own pins", async () => {
  await shareDefaultEnvironment();
  const model_name = await tinyModel();
  const home = temporaryFolder("own-pins");
  await withVariables({ PARE_HOME: home }, async () => {
    const said: string[] = [];
    await using lab = await openLab({ onSetup: (line) => said.push(line) });
    const study = await lab.open({
      model_name,
      dataset: "tiny",
      runtime: "transformers",
      fidelity: "proxy",
      max_trials: 1,
      constraints: { max_accuracy_drop: 0.9 },
      methods: ["block_dropping"],
      strategies: [{
        actions: [{ agent: "depth", method: "block_dropping", params: { blocks: 1 } }],
      }],
      plugins: [PLUGIN],
    }, "own-pins");
    assert.deepEqual(made(home), ["depth"], "before the study's clock starts");
    assert.equal(await lab.store.current(), null, "nothing is recorded yet");
    assert(said.some((line) => line.startsWith("environment depth: making")), said.join("\n"));

    const again: string[] = [];
    const result = await study.run({
      ask: silentAsk(),
      onEvent: (event) => {
        if (event.event === "progress") again.push(event.label);
      },
    });
    assert(!again.some((label) => label.startsWith("environment")), again.join());
    const trial = result.trials.find(({ number }) => number === 1)!;
    assert.equal(trial.state, "completed", trial.failure?.message);

    const view = await lab.view(study.study_id);
    const hashes = { default: usedHash("default"), depth: pinsHash("depth", PINS) };
    assert.deepEqual(view.provenance.environments, hashes);
    assert(JSON.stringify(runAgainBlocks(view)).includes(`depth ${hashes.depth}`));
    const rows = await lab
      .sql`SELECT environment, pins_hash FROM environments ORDER BY environment`;
    const listed = Object.entries(hashes).map(([environment, pins_hash]) => ({
      environment,
      pins_hash,
    }));
    assert.deepEqual([...rows], listed);

    const artifact = view.artifacts.get(trial.artifact_ids.at(-1)!)!;
    const config = JSON.parse(await Deno.readTextFile(join(artifact.location, "config.json")));
    assert.equal(config.num_hidden_layers, 1, "one of the tiny model's two blocks is gone");
    assert.equal(artifact.model?.layers, 1);
    assert.deepEqual(artifact.changes?.map(({ part }) => part), ["block", "linear"]);

    // Another interpreter, which pare did not make: the study goes on and says so.
    await withVariables({ PARE_ENV_DEPTH: await plainPython() }, async () => {
      await (await lab.resume(study.study_id)).run({ ask: silentAsk() });
    });
    const { alerts } = await lab.view(study.study_id);
    const told = alerts.filter(({ condition }) => condition === "changed_environment");
    assert.deepEqual(told.map(({ trial_id, evidence }) => [trial_id, evidence]), [[
      null,
      `the environment depth has the pins override now; the study began with ${hashes.depth}`,
    ]]);
  });
});
