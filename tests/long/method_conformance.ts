import process from "node:process";
import { fileURLToPath } from "node:url";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { readPins } from "../../python-backends/environments/environment_pins.ts";
import { overrideVariable } from "../../python-backends/environments/environments.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { tinyWorld } from "../tiny_model.ts";
import { methodConformance } from "../plugins/conformance.ts";

/** Whether an environment is there, or is one that every study may have made. */
function isHere(name: string, pins: string | undefined): boolean {
  return readPins(name, pins).on_request === null || overrideVariable(name) in process.env;
}

const THIRD_PARTY = ["dithering.ts", "depth/depth.ts"].map((file) =>
  fileURLToPath(new URL(`../fixtures/third_party/${file}`, import.meta.url))
);

Deno.test("every method, a third party's too, keeps the contract on the tiny model", async (t) => {
  await shareDefaultEnvironment();
  const env = { HF_HUB_OFFLINE: "1" };
  const { methods, environments } = await discoverPlugins(THIRD_PARTY);
  const home = temporaryFolder("conformance");
  const client = createBackendClient({ home, env, pins_folders: environments });
  try {
    const world = await tinyWorld(client);
    for (const entry of methods) {
      const { environment } = entry.method.needs;
      await t.step({
        name: `${entry.agent}/${entry.method.name}`,
        // What is made for those who ask is tested where PARE_ENV_<NAME> names it.
        ignore: !isHere(environment, environments.get(environment)),
        fn: async (one) => {
          await methodConformance(entry, world, (name, check) => one.step(name, check));
        },
      });
    }
  } finally {
    await client.close();
  }
});
