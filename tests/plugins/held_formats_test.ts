import assert from "node:assert/strict";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Action,
  checkHeld,
  type RegisteredMethod,
  resolveAction,
  type Runtime,
} from "../../core/mod.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { must, type TinyWorld, tinyWorld } from "../tiny_model.ts";

const ENVIRONMENT = { environment: "default" };
const CASES: readonly { method: string; params: Action["params"] }[] = [
  { method: "rtn", params: { bits: 4, group_size: 32, targets: "all" } },
  { method: "rtn", params: { bits: 3, group_size: -1, symmetric: false } },
  { method: "rtn", params: { bits: 8, group_size: 32, symmetric: false } },
  { method: "int8", params: { activation_group_size: 32 } },
];

/** What a written artifact's config.json says of its linear layers. */
async function storedFormat(directory: string) {
  const config = JSON.parse(await readFile(join(directory, "config.json"), "utf8"));
  const groups: Record<string, unknown>[] = Object.values(config.quantization_config.config_groups);
  const { weights, input_activations } = groups[0] as {
    weights: { num_bits: number; group_size?: number | null; symmetric: boolean };
    input_activations: { group_size?: number | null } | null;
  };
  return {
    form: "grid",
    bits: weights.num_bits,
    group_size: weights.group_size ?? -1,
    symmetric: weights.symmetric,
    activation_group_size: input_activations === null ? null : input_activations.group_size ?? -1,
  };
}

/** The artifact that an action makes of the tiny model. */
async function applied(entry: RegisteredMethod, params: Action["params"], world: TinyWorld) {
  const output_dir = await mkdtemp(join(world.folder, "held-"));
  must(
    await world.client.run({
      call: "apply",
      parent_dir: world.model_dir,
      output_dir,
      agent: entry.agent,
      method: entry.method.name,
      params,
      calibration_path: null,
      seed: 1,
      python_path: null,
    }, ENVIRONMENT),
  );
  return output_dir;
}

async function checkCase(
  entry: RegisteredMethod,
  given: Action["params"],
  llama: Runtime,
  world: TinyWorld,
) {
  const action = { agent: entry.agent, method: entry.method.name, params: given };
  const { params } = resolveAction(action, [entry], world.facts);
  const directory = await applied(entry, params, world);
  const { changes } = entry.method.leaves(params, world.facts);
  for (const { form } of changes) assert.deepEqual(form, await storedFormat(directory));
  const held = checkHeld(llama, entry, params, world.facts);
  const output_dir = await mkdtemp(join(world.folder, "gguf-"));
  const outcome = await world.client.run({
    call: "make_form",
    runtime: llama.name,
    artifact_dir: directory,
    output_dir,
    exact: false,
  }, ENVIRONMENT);
  assert.equal(outcome.ok, held.ok, JSON.stringify([held, outcome]));
  if (!outcome.ok) assert.equal(outcome.failure.kind, "invalid");
}

Deno.test("methods store what they declare, and llama.cpp holds exactly what its file can", async (t) => {
  await shareDefaultEnvironment();
  const env = { HF_HUB_OFFLINE: "1" };
  const client = createBackendClient({ home: temporaryFolder("held"), env });
  try {
    const world = await tinyWorld(client);
    const registry = await discoverPlugins();
    for (const { method, params } of CASES) {
      const entry = registry.methods.find((one) => one.method.name === method);
      assert.ok(entry !== undefined);
      await t.step(`${method} ${JSON.stringify(params)}`, async () => {
        await checkCase(entry, params, registry.runtime("llama.cpp"), world);
      });
    }
  } finally {
    await client.close();
  }
});
