/** What a staged run gives back or ships is looked at on disk, byte for byte. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { idOfBytes } from "../../../tracker/artifacts/id_of_bytes.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT } from "../../fixtures/stores/records.ts";

const META = {
  ...{ action_key: "a".repeat(64), parent_id: null, action: null, formula_bytes: null },
  ...{ weight_bits: 4.5, activation_bits: null, verification: null, created_at: AT },
};

Deno.test("an artifact's id is of the bytes on disk: one that is flipped, cut or gone is told", () =>
  inDirectory(async (root) => {
    using store = await openArtifactStore(root);
    const folder = await store.begin();
    const whole = new Uint8Array(1000).fill(7);
    await Deno.writeFile(join(folder, "model.safetensors"), whole);
    await Deno.writeTextFile(join(folder, "config.json"), "{}");
    const made = await store.commit(folder, META);
    assert.equal(await idOfBytes(made, store), made.artifact_id);
    const file = join(made.location, "model.safetensors");
    await Deno.chmod(file, 0o644);
    const write = (bytes: Uint8Array) => Deno.writeFile(file, bytes);
    await write(whole.map((byte, i) => i === 500 ? byte ^ 1 : byte));
    await assert.rejects(idOfBytes(made, store), /model\.safetensors has another checksum/);
    await write(whole.slice(1));
    await assert.rejects(idOfBytes(made, store), /has 999 bytes: 1000 were written/);
    await write(whole);
    assert.equal(await idOfBytes(made, store), made.artifact_id, "the same bytes are the same");
    await Deno.remove(file);
    await assert.rejects(idOfBytes(made, store), /cannot be read/);
  }));
