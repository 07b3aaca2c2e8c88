import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Action, type Change, type Registry, resolveAction } from "../../core/mod.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { must, type TinyWorld, tinyWorld } from "../tiny_model.ts";
import { runtimeConformance } from "../plugins/runtime_conformance.ts";
import { wiredTask } from "../fixtures/wired_task.ts";

const THIRD_PARTY = fileURLToPath(
  new URL("../fixtures/third_party/bfloat16/bfloat16.ts", import.meta.url),
);

/** Rounded to 4 bits, which every runtime holds that is run here. */
const ROUNDED: Action = {
  agent: "quantization",
  method: "rtn",
  params: { bits: 4, group_size: 32, symmetric: true, targets: "all" },
};

/** What the first tries of every method leave of the tiny model. */
function changesOf({ methods }: Registry, { facts }: TinyWorld): Change[] {
  return methods.flatMap((entry) => {
    const given = (["conservative", "balanced", "aggressive"] as const)
      .map((boldness) => entry.method.seed(boldness, facts)).filter((params) => params !== null);
    return given.flatMap((params) => {
      const action = { agent: entry.agent, method: entry.method.name, params };
      const resolved = resolveAction(action, [entry], facts);
      return entry.method.leaves(resolved.params, facts).changes;
    });
  });
}

async function rounded({ client, folder, model_dir }: TinyWorld): Promise<string> {
  const output_dir = await mkdtemp(join(folder, "rounded-"));
  const more = { calibration_path: null, seed: 1, python_path: null };
  must(
    await client.run({ call: "apply", parent_dir: model_dir, output_dir, ...ROUNDED, ...more }, {
      environment: "default",
    }),
  );
  return output_dir;
}

Deno.test("every runtime, a third party's too, keeps the contract on the tiny model", async (t) => {
  await shareDefaultEnvironment();
  await ensureEnvironment("openvino_export");
  const env = { HF_HUB_OFFLINE: "1" };
  const client = createBackendClient({ home: temporaryFolder("runtimes"), env });
  try {
    const world = await tinyWorld(client);
    const registry = await discoverPlugins([THIRD_PARTY]);
    const task = registry.task("tiny_words");
    const trial = {
      world,
      artifacts: [world.model_dir, await rounded(world)],
      changes: changesOf(registry, world),
      task: wiredTask(task, fileURLToPath(task.data_file!)),
    };
    for (const runtime of registry.runtimes) {
      await t.step(runtime.name, async (one) => {
        await runtimeConformance(runtime, trial, (name, check) => one.step(name, check));
      });
    }
  } finally {
    await client.close();
  }
});
