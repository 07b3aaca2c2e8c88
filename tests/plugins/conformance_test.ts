import { discoverPlugins } from "../../tracker/discover.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { shareDefaultEnvironment, temporaryFolder } from "../python-backends/scripted_worker.ts";
import { tinyWorld } from "../tiny_model.ts";
import { methodConformance } from "./conformance.ts";

Deno.test("every method keeps the contract on the tiny model", async (t) => {
  await shareDefaultEnvironment();
  const env = { HF_HUB_OFFLINE: "1" };
  const client = createBackendClient({ home: temporaryFolder("conformance"), env });
  try {
    const world = await tinyWorld(client);
    const { methods } = await discoverPlugins();
    for (const entry of methods) {
      await t.step(`${entry.agent}/${entry.method.name}`, async (one) => {
        await methodConformance(entry, world, (name, check) => one.step(name, check));
      });
    }
  } finally {
    await client.close();
  }
});
