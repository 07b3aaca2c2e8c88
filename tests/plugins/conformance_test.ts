import { fileURLToPath } from "node:url";
import { discoverPlugins } from "../../tracker/discover.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { tinyWorld } from "../tiny_model.ts";
import { methodConformance } from "./conformance.ts";

const THIRD_PARTY = fileURLToPath(
  new URL("../fixtures/third_party/dithering.ts", import.meta.url),
);

Deno.test("every method, a third party's too, keeps the contract on the tiny model", async (t) => {
  await shareDefaultEnvironment();
  const env = { HF_HUB_OFFLINE: "1" };
  const client = createBackendClient({ home: temporaryFolder("conformance"), env });
  try {
    const world = await tinyWorld(client);
    const { methods } = await discoverPlugins([THIRD_PARTY]);
    for (const entry of methods) {
      await t.step(`${entry.agent}/${entry.method.name}`, async (one) => {
        await methodConformance(entry, world, (name, check) => one.step(name, check));
      });
    }
  } finally {
    await client.close();
  }
});
