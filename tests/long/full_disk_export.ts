import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createBackendClient } from "../../python-backends/client.ts";
import { fill, mayMount, mountDisk } from "../fixtures/small_disk.ts";
import { trainedTinyModel } from "../tiny_model.ts";

/** Steps of the export that have ended when the disk fills: before the weights are written, and after. */
for (const steps of [1, 2]) {
  Deno.test({
    name: `a disk that fills after step ${steps} of an export is named, and nothing of it is left`,
    ignore: !await mayMount(),
    async fn() {
      await using disk = await mountDisk("60m");
      const client = createBackendClient({ spares: false });
      const model_dir = await trainedTinyModel(client);
      const output_dir = `${disk.path}/graph`;
      const outcome = await client.run({ stage: "export_graph", model_dir, output_dir }, {
        environment: "openvino_export",
        onEvent: (event) => {
          if (event.event === "progress" && event.done === steps) fill(disk.path);
        },
      });
      await client.close();
      assert.ok(!outcome.ok);
      assert.equal(outcome.failure.kind, "disk_full", JSON.stringify(outcome.failure));
      assert.match(outcome.failure.message, /Cannot export a graph to .*: no space is left/);
      assert.deepEqual(readdirSync(output_dir).filter((name) => name.startsWith("tmp")), []);
    },
  });
}
