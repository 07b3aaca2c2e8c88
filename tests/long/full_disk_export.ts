import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createBackendClient } from "../../python-backends/client.ts";
import { fill, mountDisk, unlessMountable } from "../fixtures/small_disk.ts";
import { trainedTinyModel } from "../tiny_model.ts";

/** Bytes left when the export begins: of its 0.7 MB nothing finds room, or the weights alone do. */
for (const left of [0, 600_000]) {
  Deno.test({
    name: `a disk with ${left} bytes left for an export is named, and nothing of it is left`,
    ignore: await unlessMountable(),
    async fn() {
      await using disk = await mountDisk("60m");
      const client = createBackendClient();
      const artifact_dir = await trainedTinyModel(client);
      const output_dir = `${disk.path}/graph`;
      const request = {
        call: "make_form",
        runtime: "openvino",
        artifact_dir,
        output_dir,
        exact: false,
      } as const;
      const outcome = await client.run(request, {
        environment: "openvino_export",
        onEvent: (event) => {
          if (event.event === "progress" && event.done === 1) fill(disk.path, left);
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
